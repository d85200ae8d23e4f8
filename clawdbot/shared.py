"""What all who deal with people's wishes share: made once, in `clawdbot.assembly`."""

from dataclasses import dataclass

from clawdbot.answers.addresses import Addresses
from clawdbot.answers.notices import Notices
from clawdbot.clock import Clock
from clawdbot.delivery.pace import Budgets
from clawdbot.latency.observed import Observe
from clawdbot.models import Models
from clawdbot.ops.meter import Meter
from clawdbot.people.gate import Gate
from clawdbot.prompts.style import Styles
from clawdbot.questions.albums import Albums
from clawdbot.questions.reading import Reading
from clawdbot.sessions.sessions import Sessions
from clawdbot.store import Store


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
