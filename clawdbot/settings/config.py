"""Settings: one TOML file and the bots' tokens from the environment, read once into frozen, typed values."""

import ipaddress
import logging
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from clawdbot.engine.settings import EngineSettings, ModelName
from clawdbot.engine.several import completed
from clawdbot.errors import ConfigError
from clawdbot.ops.forwarded import Network
from clawdbot.ops.guard import SHORTEST_TOKEN, is_loopback
from clawdbot.settings.faults import validate
from clawdbot.settings.section import Count, Section
from clawdbot.settings.tokens import misplaced, token_file, token_of, token_variable

log = logging.getLogger(__name__)

FILE = "config.toml"
DEFAULT_PERSONA = "default"
"""The name of the persona that ``[answers]`` describes."""


def _numeric_id(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError(
        "only a number identifies somebody for good, written without quotes. Discord shows it with Developer Mode on "
        '(right click, "Copy ID"); on every platform the bot\'s log names the id of whoever it refuses.'
    )


def _persona_name(name: str) -> str:
    if name == DEFAULT_PERSONA:
        raise ValueError("that is what [answers] describes; give it another name.")
    if re.fullmatch(r"[a-z0-9_-]{1,32}", name):
        return name
    raise ValueError('a name is made of small letters, digits, "-" and "_", 32 at most.')


def _network(value: Any) -> Network:
    try:
        return ipaddress.ip_network(value if isinstance(value, str) else "")
    except ValueError:
        raise ValueError('an address or a network in quotes, such as "127.0.0.1" or "172.18.0.0/16".') from None


Id = Annotated[int, BeforeValidator(_numeric_id)]
Ids = Annotated[frozenset[Id], Field(strict=False)]
Networks = Annotated[tuple[Annotated[Network, BeforeValidator(_network)], ...], Field(strict=False)]
PersonaName = Annotated[str, AfterValidator(_persona_name)]


class AnswerSettings(Section):
    """``[answers]``: how answers are made."""

    system_prompt: str = "You are ClawdBot, a helpful assistant."
    max_tokens: Count = 1024
    temperature: float = Field(0.7, ge=0, le=2)
    top_p: float = Field(0.95, gt=0, le=1)
    history_share: float = Field(0.75, gt=0, le=1)
    """How much of the model's context, less the room for the answer, the conversation so far may fill."""
    max_messages: Count = 5
    """An answer that needs more messages than this is completed as a file."""
    footer: bool = False
    """Whether a small line below a final answer says how fast it came."""
    max_files: Count = 10
    """Files that may come with one question."""
    max_file_bytes: Count = 1_000_000
    """The most that a file of text may have."""
    max_image_bytes: Count = 10_000_000
    """The most that a picture may have."""


class Persona(Section):
    """``[personas.NAME]``: another way to answer, for conversations that choose it; what is left out is as usual."""

    system_prompt: str
    about: str = ""
    """What people are told about it, in a few words."""
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    max_tokens: Count | None = None


class SessionSettings(Section):
    """``[sessions]``: how many answers are made at once, and what waits."""

    concurrent: Count = 32
    """Answers that one model makes at the same time, over all conversations."""
    waiting: Count = 128
    """Questions that wait for one model, over all conversations; further ones are refused."""
    patience: float = Field(30.0, gt=0)
    """Seconds of waiting after which nothing that came later overtakes a question."""
    queue: int = Field(4, ge=0)
    """Questions that wait in one conversation; further ones are refused."""
    share: Count = 16
    """Questions of one person, answered now or waiting, over all conversations; further ones are refused."""
    busy: Literal["queue", "interrupt", "refuse"] = "queue"
    """What a question gets while its conversation's last one is being answered: it waits; or it stops that answer, if
    it is its author's own, and waits otherwise; or it is refused."""
    groups: Literal["shared", "per_user"] = "shared"
    """Whether all in a group, channel, thread or topic share one conversation, or each person has their own there."""
    idle_reset: float = Field(0.0, ge=0)
    """Hours after the last exchange of a conversation when the next question begins a new one; 0 is never."""
    max_question_chars: Count = 100_000
    max_age: float = Field(900.0, gt=0)
    """Seconds; a question that reached the bot later than this after it was posted is not answered."""
    drain: float = Field(10.0, ge=0)
    """Seconds that running answers have to finish when the bot is told to stop."""


class Allowed(Section):
    """``[access.NAME]``: who may talk to the bot on one platform. Nobody may who is not listed."""

    users: Ids = frozenset()
    guilds: Ids = frozenset()
    """Discord servers whose members may talk in them."""
    roles: Ids = frozenset()
    """Discord roles whose bearers may talk in the servers of those roles."""
    chats: Ids = frozenset()
    """Groups or channels whose members may talk in them."""
    admins: Ids = frozenset()
    """Users who may talk everywhere and use the commands for admins."""


class Quota(Section):
    """``[access.quota]``: the most that one person may have, admins apart; 0 sets no limit.

    Hours and days are those of UTC.
    """

    messages_per_hour: int = Field(0, ge=0)
    messages_per_day: int = Field(0, ge=0)
    tokens_per_hour: int = Field(0, ge=0)
    """Tokens that the engine has to read or writes for them; what its prefix cache serves does not count."""
    tokens_per_day: int = Field(0, ge=0)


class StoreSettings(Section):
    """``[store]``: where conversations are kept, and how long."""

    path: Path = Field(
        default_factory=lambda: platformdirs.user_data_path("clawdbot") / "clawdbot.sqlite3", strict=False
    )
    keep_days: int = Field(30, ge=0)
    """Timings, the audit, events seen and the refs of posts that are older are removed; 0 keeps them for good."""
    keep_text_days: int = Field(0, ge=0)
    """Questions and answers that are older are removed with all that was noted of them; 0 keeps them for good."""


class LoggingSettings(Section):
    """``[logging]``."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["text", "json"] = "text"


class OpsSettings(Section):
    """``[ops]``: the bot's own web server, for whoever watches it."""

    enabled: bool = False
    host: str = "127.0.0.1"
    port: int = Field(9464, ge=0, le=65_535)
    """0 is any that is free."""
    proxies: Networks = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1"))
    """What they say about whoever asks them (X-Forwarded-For, X-Forwarded-Proto) is believed."""
    token: SecretStr | None = None
    """From the environment or ``token_file``; without one nobody but this machine reaches the server."""
    token_file: Path | None = None


@dataclass(frozen=True, slots=True)
class AdapterTable:
    """``[adapters.NAME]`` as written in ``source``, for the platform's own settings model to check."""

    source: str
    options: Mapping[str, Any]
    token: SecretStr | None
    token_file: Path | None = None
    """The file that the table names for the token."""


class Settings(Section):
    """All settings; ``adapters`` holds the enabled ones alone, by name."""

    engine: EngineSettings = EngineSettings()
    """The model that answers where nobody has chosen another one."""
    models: Mapping[ModelName, EngineSettings] = {}
    """Further ones, by the names that people choose them by."""
    answers: AnswerSettings = AnswerSettings()
    personas: Mapping[PersonaName, Persona] = {}
    sessions: SessionSettings = SessionSettings()
    access: Mapping[str, Allowed] = {}
    quota: Quota = Quota()
    """``[access.quota]``."""
    store: StoreSettings = Field(default_factory=StoreSettings)
    adapters: Mapping[str, AdapterTable] = {}
    logging: LoggingSettings = LoggingSettings()
    ops: OpsSettings = OpsSettings()

    @property
    def offered(self) -> dict[str, EngineSettings]:
        """All models by what people call them, the default first."""
        return {self.engine.called: self.engine, **self.models}


def find(environ: Mapping[str, str]) -> Path | None:
    """The file that is meant when none is named: $CLAWDBOT_CONFIG, ./config.toml, or the user's own."""
    if named := environ.get("CLAWDBOT_CONFIG"):
        return Path(named)
    usual = (Path(FILE), platformdirs.user_config_path("clawdbot") / FILE)
    return next((path for path in usual if path.is_file()), None)


def load(path: Path | None, environ: Mapping[str, str]) -> Settings:
    """Read ``path``, or what `find` finds, with the tokens from ``environ``. Raises `ConfigError`."""
    path = path or find(environ)
    if path is None:
        raise ConfigError(
            FILE, 'there is no such file here. Copy "config.example.toml" to it, or name another with --config.'
        )
    table = _read(path)
    raw = table.pop("adapters", {})
    quota = _quota(table, str(path))
    folder = path.absolute().parent
    ops = _ops(table.pop("ops", {}), folder, environ, str(path))
    settings = validate(Settings, table, source=str(path))
    store = settings.store.model_copy(update={"path": folder / settings.store.path.expanduser()})
    adapters = _adapters(raw, folder, environ, str(path))
    engine, models = completed(settings.engine, settings.models, environ, str(path), named="engine" in table)
    read = {"engine": engine, "models": models, "store": store, "quota": quota, "adapters": adapters, "ops": ops}
    return settings.model_copy(update=read)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(str(path), f"is not UTF-8 text (byte {error.start}).") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(str(path), f"is not valid TOML: {error}.") from error


def _quota(table: Mapping[str, Any], source: str) -> Quota:
    """``[access.quota]``, taken out of ``table``: all others in ``[access]`` are platforms."""
    if "quota" in table:
        raise ConfigError(source, "quota is not a known setting; did you mean 'access.quota'?")
    access = table.get("access")
    raw = access.pop("quota", {}) if isinstance(access, dict) else {}
    return validate(Quota, raw, source=source, at=("access", "quota"))


def _ops(raw: Any, folder: Path, environ: Mapping[str, str], source: str) -> OpsSettings:
    if not isinstance(raw, dict):
        raise ConfigError(source, "ops: it must be a table, [ops].")
    if "token" in raw:
        raise ConfigError(source, misplaced("ops", "ops"))
    options = {key: value for key, value in raw.items() if key != "token_file"}
    token = token_of("ops", raw, key="ops", folder=folder, environ=environ, source=source)
    secret = {"token": token, "token_file": token_file(raw, folder)}
    found = validate(OpsSettings, options, source=source, at=("ops",)).model_copy(update=secret)
    if token is None and not is_loopback(found.host):
        reason = "other machines reach the bot there, so a token has to be asked for. Put one of"
        where = (
            f"characters into the environment variable {token_variable('ops')}, or a file that ops.token_file names."
        )
        raise ConfigError(source, f'ops.host = "{found.host}": {reason} {SHORTEST_TOKEN} or more {where}')
    if token is not None and len(token.get_secret_value()) < SHORTEST_TOKEN:
        raise ConfigError(source, f"the token of ops is too short: it must have {SHORTEST_TOKEN} characters or more.")
    return found


def _adapters(raw: Any, folder: Path, environ: Mapping[str, str], source: str) -> dict[str, AdapterTable]:
    if not isinstance(raw, dict):
        raise ConfigError(source, "adapters: it must be a table of tables, such as [adapters.discord].")
    found: dict[str, AdapterTable] = {}
    faults: list[str] = []
    for name, table in raw.items():
        if not isinstance(table, dict):
            faults.append(f"adapters.{name}: it must be a table, [adapters.{name}].")
        elif not isinstance(enabled := table.get("enabled", True), bool):
            faults.append(f"adapters.{name}.enabled: it must be true or false.")
        elif "token" in table:
            faults.append(misplaced(f"adapters.{name}", name))
        elif enabled:
            found[name] = _adapter(name, table, folder, environ, source)
    if faults:
        raise ConfigError(source, *faults)
    return found


def _adapter(
    name: str, table: Mapping[str, Any], folder: Path, environ: Mapping[str, str], source: str
) -> AdapterTable:
    """The environment comes before ``token_file``."""
    options = {key: value for key, value in table.items() if key not in ("enabled", "token_file")}
    token = token_of(name, table, key=f"adapters.{name}", folder=folder, environ=environ, source=source)
    return AdapterTable(source, options, token, token_file(table, folder))
