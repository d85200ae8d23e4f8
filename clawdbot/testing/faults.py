"""What goes wrong on purpose: faults that a simulated platform has on its calls, by a plan."""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Trouble(StrEnum):
    """The ways in which a call over a network goes wrong."""

    LIMITED = "limited"
    """Refused with 429; `Fault.seconds` is the wait that the refusal names."""
    ERROR = "error"
    """Answered with 500, without effect."""
    BAD_GATEWAY = "bad_gateway"
    """Answered with 502 and a page of HTML, without effect."""
    RESET_BEFORE = "reset_before"
    """The connection breaks before the call has its effect."""
    RESET_AFTER = "reset_after"
    """The call has its effect, then the connection breaks before the answer."""
    TIMEOUT_AFTER = "timeout_after"
    """The call has its effect; no answer comes for `Fault.seconds`, then the connection breaks."""
    HANG = "hang"
    """No effect and no answer for `Fault.seconds`, then the connection breaks."""

    @property
    def acted(self) -> bool:
        """Whether the call has its effect all the same."""
        return self in (Trouble.RESET_AFTER, Trouble.TIMEOUT_AFTER)


@dataclass(frozen=True, slots=True)
class Fault:
    """One call that goes wrong."""

    trouble: Trouble
    seconds: float = 60.0
    """The wait that `LIMITED` asks for, or how long `TIMEOUT_AFTER` and `HANG` stay silent."""


Plan = Callable[[str], Fault | None]
"""Takes a call's name ("sendMessage", "PATCH message") and says what goes wrong with it; None for nothing."""


class Faults:
    """Decides for each call of a simulated platform whether it goes wrong.

    Faults queued by `add` come first, in their order and only for the call that they name; then the plan is asked,
    for example one that draws from a seeded `random.Random`.
    """

    def __init__(self, plan: Plan | None = None) -> None:
        self.plan: Plan = plan or (lambda call: None)
        self.injected: Counter[Trouble] = Counter()
        """How often each trouble was caused so far."""
        self._queued: dict[str, deque[Fault | None]] = {}

    def add(self, call: str, *faults: Fault | None) -> None:
        """Let the next calls named ``call`` have these ``faults``, one each; None lets one pass."""
        self._queued.setdefault(call, deque()).extend(faults)

    def take(self, call: str) -> Fault | None:
        """The fault of the call that is being made now."""
        queued = self._queued.get(call)
        fault = queued.popleft() if queued else self.plan(call)
        if fault:
            self.injected[fault.trouble] += 1
        return fault
