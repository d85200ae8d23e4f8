"""The configuration read again while the bot runs: what can change does, what cannot is named."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from pydantic import BaseModel

from clawdbot.engine.settings import EngineSettings
from clawdbot.errors import ConfigError
from clawdbot.sessions.sessions import survived
from clawdbot.settings.config import AdapterTable, Settings

log = logging.getLogger(__name__)

ANSWERS = ("system_prompt", "max_tokens", "temperature", "top_p", "history_share", "max_messages")
SESSIONS = ("waiting", "queue", "share", "busy")
MODELS = ("about", "system_prompt", "temperature", "top_p", "max_tokens")
"""Those of their tables that a running bot can adopt."""


class Reloading:
    """Reads the configuration whenever it is told to, and lets the bot go on by it."""

    def __init__(self, settings: Settings, load: Callable[[], Settings], adopt: Callable[[Settings], None]) -> None:
        """``settings`` are in force; ``load`` reads new ones and raises `ConfigError`; ``adopt`` brings them about."""
        self._settings = settings
        self._load = load
        self._adopt = adopt

    async def run(self, asked: asyncio.Event) -> None:
        """Do so whenever ``asked`` is set, once for all who set it meanwhile, until cancelled."""
        while True:
            await asked.wait()
            asked.clear()
            await survived(self.reload())

    async def reload(self) -> None:
        """Read it now. With faults in it everything stays as it is; the log says what came of it."""
        try:
            wanted = await asyncio.to_thread(self._load)
        except ConfigError as error:
            for fault in error.faults:
                log.error("configuration not reloaded: %s: %s", error.source, fault)  # noqa: TRY400 - a sentence
            return
        adopted = adoptable(self._settings, wanted)
        changes, left = changed(self._settings, adopted), changed(adopted, wanted)
        self._adopt(adopted)
        self._settings = adopted
        log.info("configuration reloaded: %s", ", ".join(changes) or "nothing to change")
        if left:
            log.warning("needs a restart: %s", ", ".join(left))


def heed_hangups() -> None:
    """SIGHUP is held back since the process began; from here on it does what it is to do."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})


@contextmanager
def hangups() -> Iterator[asyncio.Event]:
    """In the block SIGHUP sets the event, also one that came before; after it the process is ended at once by one."""
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGHUP, asked.set)
    heed_hangups()
    try:
        yield asked
    finally:
        loop.remove_signal_handler(signal.SIGHUP)


@asynccontextmanager
async def reread(reloading: Reloading, asked: asyncio.Event) -> AsyncIterator[None]:
    """In the block the configuration is read again whenever ``asked`` is set."""
    task = asyncio.create_task(reloading.run(asked))
    try:
        yield
    finally:
        task.cancel()


def adoptable(old: Settings, new: Settings) -> Settings:
    """``old``, as far as a bot that runs can take up ``new``."""
    answers = {name: getattr(new.answers, name) for name in ANSWERS}
    sessions = {name: getattr(new.sessions, name) for name in SESSIONS}
    return old.model_copy(
        update={
            "engine": _adopting(old.engine, new.engine),
            "models": {
                name: _adopting(model, new.models[name]) if name in new.models else model
                for name, model in old.models.items()
            },
            "access": new.access,
            "quota": new.quota,
            "personas": new.personas,
            "answers": old.answers.model_copy(update=answers),
            "sessions": old.sessions.model_copy(update=sessions),
            "logging": old.logging.model_copy(update={"level": new.logging.level}),
        }
    )


def _adopting(old: EngineSettings, new: EngineSettings) -> EngineSettings:
    return old.model_copy(update={name: getattr(new, name) for name in MODELS})


def changed(old: Settings, new: Settings) -> tuple[str, ...]:
    """The keys whose values differ, as they are called in the file."""
    # A table of the file that is kept elsewhere among the settings.
    return tuple(f"access.{key}" if key.startswith("quota.") else key for key in _differing(old, new, ""))


def _differing(old: Any, new: Any, above: str) -> Iterator[str]:
    before, after = _parts(old), _parts(new)
    if before is None or after is None:
        if old != new:
            yield above
        return
    for name in (*before, *(name for name in after if name not in before)):
        key = f"{above}.{name}" if above else name
        if name in before and name in after:
            yield from _differing(before[name], after[name], key)
        else:
            yield key


def _parts(value: Any) -> Mapping[str, Any] | None:
    """What a table holds; None of anything else."""
    if isinstance(value, BaseModel):
        return {name: getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, AdapterTable):
        return {**value.options, "token": value.token, "token_file": value.token_file}
    return value if isinstance(value, Mapping) else None
