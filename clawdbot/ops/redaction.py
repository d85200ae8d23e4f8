"""Keeps secrets out of what is written: the ones that are known, and whatever has the shape of one. Pure."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

from clawdbot.settings.config import Settings
from clawdbot.settings.faults import SECRET

HIDDEN = "[secret]"
SHORTEST = 6
"""Characters; what is shorter would be found in any text."""

_VARIABLE = re.compile(r"(TOKEN|KEY|SECRET|PASSWORD)$")
"""How environment variables with secrets are called."""
_SHAPES = re.compile(
    r"""
    (?P<scheme>\bBearer\s+)[^\s'",;)\]]{8,}
    | (?P<user>://[^\s/:@]*:)[^\s/@]+(?=@)                # the password in a URL
    | (?<!\d)\d{6,12}(?::|%3A)[\w-]{30,}                  # a bot's token on Telegram
    | \b[\w-]{23,28}\.[\w-]{6,7}\.[\w-]{27,}              # a bot's token on Discord
    """,
    re.VERBOSE,
)


class Redactor:
    """Takes secrets out of texts."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets for form in _forms(secret) if len(form) >= SHORTEST}
        # The longest first, or a part of it would be left.
        known = "|".join(map(re.escape, sorted(forms, key=len, reverse=True)))
        self._known = re.compile(known) if known else None

    def __call__(self, text: str) -> str:
        """``text`` without the secrets."""
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        return _SHAPES.sub(_hide, text)


def secrets_of(settings: Settings | None, environ: Mapping[str, str]) -> Iterator[str]:
    """All secrets that the settings and the environment hold."""
    yield from (value for name, value in environ.items() if _VARIABLE.search(name))
    if settings is None:
        return
    tokens = [
        settings.ops.token,
        *(engine.remote.api_key for engine in settings.offered.values()),
        *(table.token for table in settings.adapters.values()),
    ]
    yield from (token.get_secret_value() for token in tokens if token is not None)
    for table in settings.adapters.values():
        yield from (str(value) for name, value in table.options.items() if SECRET.search(name))


def _forms(secret: str) -> Iterator[str]:
    """How a secret may stand in a text: as it is, in a URL, in JSON; and the part of it that alone is one."""
    for part in {secret.strip(), secret.strip().rpartition(":")[2]}:
        yield from (part, quote(part, safe=""), quote(part), json.dumps(part)[1:-1])


def _hide(found: re.Match[str]) -> str:
    return f"{found['scheme'] or found['user'] or ''}{HIDDEN}"
