"""The servers of an engine that is elsewhere: are they in reach, do they serve the model, do they take the key."""

from collections.abc import Sequence
from functools import partial

from clawdbot.engine.remote.settings import RemoteSettings
from clawdbot.ops.doctor.finding import Check, Finding, fail, ok


def servers(remote: RemoteSettings, about: str = "server", at: str = "engine.remote") -> Sequence[Check]:
    """A check for each of them; ``at``: the table of the settings that names them."""
    return [
        Check(f"{about} {number}", partial(server, f"{about} {number}", url, remote, at))
        for number, url in enumerate(remote.endpoints, 1)
    ]


async def server(about: str, url: str, remote: RemoteSettings, at: str = "engine.remote") -> Finding:
    """Whether the server at ``url`` could answer now."""
    try:
        from clawdbot.engine.remote.faults import Fault
        from clawdbot.engine.remote.server import Server
    except ImportError as error:
        return fail(about, f"The library for it cannot be imported ({error}).", "Install `clawdbot[remote]`.")
    asked = Server(url, remote.key, remote.waits)
    try:
        card = await asked.check(remote.model)
    except Fault as fault:
        remedy = f"Check [{at}] endpoints and model." if fault.lasting else "Is it running, and in reach?"
        return fail(about, f"{url} cannot be used: {fault}.", remedy)
    finally:
        await asked.close()
    return ok(about, f'{url} serves "{card.name}".')
