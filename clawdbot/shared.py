"""What all who deal with people's wishes share: made once, in `clawdbot.assembly`."""

from dataclasses import dataclass

from clawdbot.addresses import Addresses
from clawdbot.albums import Albums
from clawdbot.clock import Clock
from clawdbot.delivery.pace import Budgets
from clawdbot.gate import Gate
from clawdbot.models import Models
from clawdbot.notices import Notices
from clawdbot.observed import Observe
from clawdbot.ops.meter import Meter
from clawdbot.reading import Reading
from clawdbot.sessions import Sessions
from clawdbot.store import Store
from clawdbot.style import Styles


@dataclass(frozen=True, slots=True)
class Shared:
    """The parts that there is one of in a bot; whoever is given them takes those that it needs."""

    store: Store
    gate: Gate
    sessions: Sessions
    models: Models
    styles: Styles
    reading: Reading
    albums: Albums
    addresses: Addresses
    budgets: Budgets
    notices: Notices
    meter: Meter
    clock: Clock
    observe: Observe
    """Is told what happens."""
