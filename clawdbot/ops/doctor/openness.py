"""What is open: who may talk to the bot, and who may read or change its files."""

import stat
from collections.abc import Collection, Mapping
from pathlib import Path

from clawdbot.ops.doctor.finding import Finding, fail, ok, warn
from clawdbot.ops.guard import is_loopback
from clawdbot.people.access import Ruling
from clawdbot.settings.config import Allowed, OpsSettings, Quota

PLACES = {"guilds": "whole server", "roles": "role", "chats": "whole group or channel"}
"""What lets in people who are not listed one by one, by the setting's name."""


def access(about: str, allowed: Allowed, rulings: Mapping[Ruling, int], owners: bool = False) -> Finding:
    """Who may talk on one platform, by the settings and by what admins ruled while the bot ran.

    ``owners``: see `clawdbot.chat.Plugin.owners`.
    """
    if owners:
        return ok(about, "Open to the bot's owner alone.")
    people = {
        "admin": len(allowed.admins),
        "user": len(allowed.users) + rulings.get(Ruling.ALLOWED, 0),
        "person by a code": rulings.get(Ruling.PAIRED, 0),
        **{word: len(getattr(allowed, name)) for name, word in PLACES.items()},
    }
    let_in = [_counted(number, word) for word, number in people.items() if number]
    denied = rulings.get(Ruling.DENIED, 0)
    kept_out = f"; {_counted(denied, 'person')} kept out" if denied else ""
    if not let_in:
        return warn(about, f"Nobody may talk to the bot{kept_out}.", f"List yourself: admins in [{about}].")
    told = f"Open to {', '.join(let_in)}{kept_out}."
    if not allowed.admins:
        return warn(about, told, f"Nobody is an admin there: list yourself in admins of [{about}].")
    return ok(about, told)


def chats(about: str, allowed: Allowed, moved: Mapping[int, int]) -> Finding:
    """Whether the settings of one platform name chats by numbers that they have no more; ``moved``: old to new."""
    latest = {old: _latest(old, moved) for old in allowed.chats & moved.keys()}
    stale = {old: now for old, now in sorted(latest.items()) if now not in allowed.chats}
    if not stale:
        return ok(about, "Each chat is listed by the number that it has.")
    told = ", ".join(f"{old} is {now} now" for old, now in stale.items())
    return warn(about, f"Listed by a number of before: {told}.", "Write the new numbers there.")


def _latest(number: int, moved: Mapping[int, int]) -> int:
    """The number that a chat has now, which may have changed several times."""
    passed: set[int] = set()
    while number in moved and number not in passed:
        passed.add(number)
        number = moved[number]
    return number


def quota(about: str, chosen: Quota, open_to_places: bool) -> Finding:
    """How much one person may ask; ``open_to_places``: people whom nobody listed may talk."""
    limits = [f"{name.replace('_', ' ')}: {limit:,}" for name, limit in chosen.model_dump().items() if limit]
    if limits:
        return ok(about, f"Each person's most, {', '.join(limits)}.")
    if open_to_places:
        told = "Whole servers, groups or roles may talk to the bot, and nothing limits what one person asks."
        return warn(about, told, "Set limits in [access.quota].")
    return ok(about, "No limits are set.")


def codes(about: str, number: int) -> Finding:
    """How many codes are open, each of which would let one person in."""
    if number:
        told = f"{_counted(number, 'code')} would still let somebody talk in private."
        return warn(about, told, "Each is good once, for ten minutes after it was made.")
    return ok(about, "No code is open.")


def files(about: str, private: Collection[Path], config: Path | None) -> Finding:
    """Whether others on this machine may read what is ``private``, or change the configuration."""
    if config is not None and config.is_file() and config.stat().st_mode & stat.S_IWOTH:
        return fail(about, f"Everybody on this machine may change {config}.", f"chmod 644 {config}")
    others = stat.S_IRWXG | stat.S_IRWXO
    loose = [str(path) for path in private if path.is_file() and path.stat().st_mode & others]
    if loose:
        names = " ".join(loose)
        return warn(about, f"Others on this machine may use {names}.", f"chmod 600 {names}")
    return ok(about, "Tokens and conversations are readable by their owner alone.")


def address(about: str, ops: OpsSettings | None) -> Finding:
    """Who reaches the bot's own web server, None without one. No other machine is let in without a token."""
    if ops is None:
        return ok(about, "Nothing listens.")
    guard = "asks for its token" if ops.token else "asks for no token"
    told = f"It listens on {ops.host}, port {ops.port}, and {guard}."
    if is_loopback(ops.host):
        return ok(about, f"{told} This machine alone reaches it.")
    return warn(
        about, told, "Others may read what goes over the wire: put a proxy with TLS in front of it, or use 127.0.0.1."
    )


def _counted(number: int, word: str) -> str:
    plural = {"person": "people", "person by a code": "people by a code"}.get(word)
    if plural is None and word.startswith("whole group"):
        plural = "whole groups or channels"
    return f"{number} {word if number == 1 else plural or word + 's'}"
