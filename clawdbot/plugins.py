"""Finds the platforms that are installed: entry points of the group ``clawdbot.adapters``."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

from pydantic import BaseModel

from clawdbot.chat import Adapter, Plugin
from clawdbot.errors import ConfigError
from clawdbot.settings.config import AdapterTable, Settings
from clawdbot.settings.faults import nearest, validate
from clawdbot.settings.tokens import token_variable

GROUP = "clawdbot.adapters"


def installed() -> dict[str, EntryPoint]:
    """The entry points of all platforms in this environment, by name; nothing is imported yet."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def build(settings: Settings, known: Mapping[str, EntryPoint]) -> dict[str, Adapter]:
    """One adapter for each enabled table of ``settings``, by name, none of them connected.

    Raises `ConfigError`.
    """
    return {name: plugin.build(chosen) for name, (plugin, chosen) in choose_all(settings, known).items()}


def choose_all(settings: Settings, known: Mapping[str, EntryPoint]) -> dict[str, tuple[Plugin, BaseModel]]:
    """The enabled platforms with their own settings, by name. Raises `ConfigError`."""
    for name in settings.access:
        if name not in known:
            raise ConfigError(f"access.{name}", f"no such platform is installed; {nearest(name, known)}")
    return {name: choose(name, table, known) for name, table in settings.adapters.items()}


def build_one(name: str, table: AdapterTable, known: Mapping[str, EntryPoint]) -> Adapter:
    """The adapter ``name``, with the settings of ``table``. Raises `ConfigError`."""
    plugin, chosen = choose(name, table, known)
    return plugin.build(chosen)


def choose(name: str, table: AdapterTable, known: Mapping[str, EntryPoint]) -> tuple[Plugin, BaseModel]:
    """The platform ``name`` and its own settings, made of ``table``. Raises `ConfigError`."""
    plugin = load(name, known, table.source)
    options = dict(table.options)
    token = plugin.settings.model_fields.get("token")
    if token is not None:
        if table.token is None and token.is_required():
            raise ConfigError(
                table.source,
                f"adapters.{name} has no token. {token.description or ''}".rstrip()
                + f" Put it into the environment variable {token_variable(name)}, or into a file that "
                f"adapters.{name}.token_file names.",
            )
        if table.token is not None:
            options["token"] = table.token
    return plugin, validate(plugin.settings, options, source=table.source, at=("adapters", name))


def load(name: str, known: Mapping[str, EntryPoint], source: str) -> Plugin:
    """Import the platform ``name``. Raises `ConfigError` when it is not installed or not usable."""
    if name not in known:
        raise ConfigError(source, f"adapters.{name}: no such platform is installed; {nearest(name, known)}")
    entry = known[name]
    try:
        plugin = entry.load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(source, f"adapters.{name} cannot be used: {entry.value} does not load ({error}).") from error
    if not isinstance(plugin, Plugin):
        raise ConfigError(source, f"adapters.{name} cannot be used: {entry.value} is no clawdbot.chat.Plugin.")
    return plugin
