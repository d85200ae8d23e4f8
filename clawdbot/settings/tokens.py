"""Where tokens come from: an environment variable, or a file that the configuration names, never the configuration."""

import logging
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from clawdbot.errors import ConfigError

log = logging.getLogger(__name__)


def token_variable(name: str) -> str:
    """The environment variable that holds the token of an adapter, or of "ops"."""
    return f"CLAWDBOT_{name.upper().replace('-', '_')}_TOKEN"


def misplaced(key: str, name: str) -> str:
    """What is wrong with a token that stands in the table ``key`` itself."""
    return (
        f"{key}.token: a token does not belong in this file. Put it into the environment variable "
        f"{token_variable(name)}, or into a file that {key}.token_file names."
    )


def token_of(
    name: str, table: Mapping[str, Any], *, key: str, folder: Path, environ: Mapping[str, str], source: str
) -> SecretStr | None:
    """The token for ``name``: from the environment, or else from ``token_file`` of its ``table``, which is at ``key``.

    A relative path begins at ``folder``. Raises `ConfigError`.
    """
    token = environ.get(token_variable(name), "").strip()
    if not isinstance(table.get("token_file", ""), str):
        raise ConfigError(source, f"{key}.token_file: it must be a path in quotes.")
    path = token_file(table, folder)
    if not token and path is not None:
        token = _read(path, f"{key}.token_file", source)
    return SecretStr(token) if token else None


def token_file(table: Mapping[str, Any], folder: Path) -> Path | None:
    """The file that ``table`` names for a token; a relative path begins at ``folder``."""
    file = table.get("token_file")
    return None if file is None else folder / Path(file).expanduser()


def _read(path: Path, key: str, source: str) -> str:
    try:
        token = path.read_text(encoding="utf-8").strip()
        mode = path.stat().st_mode
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ConfigError(source, f'{key} = "{path}": it cannot be read: {reason}.') from error
    if not token:
        raise ConfigError(source, f'{key} = "{path}": it is empty; it must hold the token.')
    if mode & stat.S_IROTH:
        log.warning("%s can be read by everybody on this machine; chmod 600 it.", path)
    return token
