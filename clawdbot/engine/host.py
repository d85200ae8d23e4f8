"""Keeps an engine running: opens it in the background, opens it again when it dies, lets it sleep when it may."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from typing import Protocol, runtime_checkable

from clawdbot.abilities import Phase
from clawdbot.clock import Clock, first_of, until
from clawdbot.engine.protocol import Engine, EngineInfo
from clawdbot.errors import EngineDown, EngineUnavailable
from clawdbot.tasks.cancelling import told_to_end

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds between two tries to open a dead engine again; doubled each time."""


class OpenedEngine(Engine, Protocol):
    """An engine that can say when it is gone."""

    async def died(self) -> None:
        """Return when the engine cannot be used any more."""
        ...


@runtime_checkable
class Sleeper(OpenedEngine, Protocol):
    """An `OpenedEngine` that can give most of its memory back and still be there."""

    @property
    def can_sleep(self) -> bool:
        """Whether it can, on this machine and with its settings."""
        ...

    async def sleep(self) -> None:
        """Give the memory back and forget what was read; nothing may be under way. Raises `EngineDead`."""
        ...

    async def wake(self) -> None:
        """Be as before. Raises `EngineDead`, or whatever keeps it from that."""
        ...


OpenEngine = Callable[[], AbstractAsyncContextManager[OpenedEngine]]


class EngineHost:
    """Where the bot gets its engine from, while it starts, runs, dies and starts again, or sleeps and wakes."""

    def __init__(
        self,
        open_engine: OpenEngine,
        clock: Clock,
        *,
        sleep_after: float | None = None,
        overdue_after: float | None = None,
        patient: bool = True,
        name: str = "the engine",
    ) -> None:
        """``sleep_after``: seconds after which an engine that nobody needs is closed until somebody does; None: never.

        What closing and opening cost is ``open_engine``'s affair. ``overdue_after``: seconds after which an engine that
        is still being opened counts as down; None: it counts as loading for as long as that takes. ``patient``: whether
        people wait for an engine that is down, since there is no other one to ask. ``name``: what the log calls it.
        """
        self._open = open_engine
        self._clock = clock
        self._sleep_after = sleep_after
        self._overdue_after = overdue_after
        self._patient = patient
        self._called = name
        self._engine: OpenedEngine | None = None
        self._phase = Phase.LOADING
        self._failed = False
        self._changed = asyncio.Event()
        self._info: EngineInfo | None = None
        self._users = 0
        """How many are inside `needed`."""
        self._needed, self._free = asyncio.Event(), asyncio.Event()
        """Whether there are any, and whether there are none."""
        self._free.set()
        self.on_change: Callable[[], None] = lambda: None
        """Called when `phase` is another one."""

    @property
    def ready(self) -> bool:
        """Whether `engine` returns at once."""
        return self._engine is not None

    @property
    def phase(self) -> Phase:
        """What the engine is doing."""
        return self._phase

    @property
    def failed(self) -> bool:
        """Whether an opening has failed before there was any engine, so that an admin may have to mend something."""
        return self._failed and self._info is None

    @property
    def info(self) -> EngineInfo | None:
        """What is known of the engine that runs or ran last; None before the first one is up."""
        return self._info

    @contextmanager
    def needed(self) -> Iterator[None]:
        """For the time of the block the engine is woken and does not fall asleep."""
        self._users += 1
        self._tell_users()
        try:
            yield
        finally:
            self._users -= 1
            self._tell_users()

    async def engine(
        self, instead_of: Engine | None = None, tell: Callable[[Phase], None] = lambda phase: None
    ) -> Engine:
        """The engine, as soon as there is one; not ``instead_of``, which was found dead.

        ``tell`` is called with what is waited for, and again when that changes. The engine may fall asleep when nobody
        is inside `needed`. Raises `EngineDown` where nobody is to wait for it.
        """
        with self.needed():
            while self._engine is None or self._engine is instead_of:
                if self._phase is Phase.DOWN and not self._patient:
                    raise EngineDown("The engine could not be opened.")
                tell(self._phase)
                self._changed.clear()
                await self._changed.wait()
            return self._engine

    async def run(self) -> None:
        """Keep an engine open, or asleep, until cancelled.

        Raises what the first opening raises, since that is for the admin to mend; later ones are tried again for good.
        It may be called again then.
        """
        pause = FIRST_PAUSE
        while True:
            after = Phase.RESTARTING
            try:
                async with AsyncExitStack() as stack:
                    engine = await self._enter(stack)
                    pause = FIRST_PAUSE
                    self._set(Phase.READY, engine)
                    info = engine.info
                    log.info("%s is ready: %s on %s, %s", self._called, info.model, info.device, info.version)
                    after = await self._end_of(engine)
                    self._set(after)  # closing what is left of it takes a while
                    level, report = _REPORTS[after]
                    log.log(level, report, self._called)
            except asyncio.CancelledError as error:
                if told_to_end():
                    raise
                after, self._failed = Phase.DOWN, True
                if self._info is None:
                    raise EngineUnavailable("The engine's start was cut off.", "Start the bot again.") from error
                log.warning("%s was cut off; next try in %.0f s", self._called, pause)
            except Exception:
                after, self._failed = Phase.DOWN, True
                if self._info is None:
                    raise
                log.exception("%s could not be started again; next try in %.0f s", self._called, pause)
            finally:
                self._set(after)
            if after is Phase.ASLEEP:
                await self._needed.wait()
                self._set(Phase.WAKING)
            else:
                await self._clock.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    async def _enter(self, stack: AsyncExitStack) -> OpenedEngine:
        """Open the engine; when that takes too long it counts as down, and is opened all the same."""
        overdue = asyncio.ensure_future(self._count_as_down())
        try:
            return await stack.enter_async_context(self._open())
        finally:
            overdue.cancel()

    async def _count_as_down(self) -> None:
        if self._overdue_after is not None:
            await self._clock.sleep(self._overdue_after)
            if self._phase is not Phase.DOWN:
                log.warning("%s is not there after %.0f s; that is tried further", self._called, self._overdue_after)
                self._set(Phase.DOWN)

    async def _end_of(self, engine: OpenedEngine) -> Phase:
        """Wait until the engine has died or may sleep; what it is from then on."""
        while True:
            dying = asyncio.ensure_future(engine.died())
            await first_of(dying, self._unneeded())
            if dying.done():
                return Phase.RESTARTING
            if not self._users:  # nobody has come in the very moment in which its time was over
                return Phase.ASLEEP

    async def _unneeded(self) -> None:
        """Return when nobody has needed the engine for as long as it stays awake."""
        while True:
            await self._free.wait()
            if self._sleep_after is None:
                await self._needed.wait()
            elif not await until(self._needed, self._sleep_after, self._clock):
                return

    def _tell_users(self) -> None:
        (self._needed.set if self._users else self._needed.clear)()
        (self._free.clear if self._users else self._free.set)()

    def _set(self, phase: Phase, engine: OpenedEngine | None = None) -> None:
        self._engine, self._phase = engine, phase
        if engine is not None:
            self._info = engine.info
        self._changed.set()
        self.on_change()


_REPORTS = {
    Phase.RESTARTING: (logging.ERROR, "%s died; it is started again"),
    Phase.ASLEEP: (logging.INFO, "nobody needs %s; it sleeps until somebody does"),
}
