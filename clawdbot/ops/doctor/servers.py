"""The servers of an engine that is elsewhere: are they in reach, do they serve the model, do they take the key."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from clawdbot.engine.remote.settings import RemoteSettings
from clawdbot.ops.doctor.finding import Check, Finding, fail, ok, warn

if TYPE_CHECKING:
    from clawdbot.engine.remote.server import Server


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
        return await _pictures(about, asked, card.name, remote, at)
    except Fault as fault:
        remedy = f"Check [{at}] endpoints and model." if fault.lasting else "Is it running, and in reach?"
        return fail(about, f"{url} cannot be used: {fault}.", remedy)
    finally:
        await asked.close()


async def _pictures(about: str, asked: "Server", model: str, remote: RemoteSettings, at: str) -> Finding:
    """What a server that serves ``model`` does with pictures, where the settings want any."""
    from clawdbot.engine.remote.faults import Fault

    told = f'{asked.url} serves "{model}"'
    if remote.images == 0:
        return ok(about, f"{told}.")
    try:
        sees = await asked.sees(model)
    except Fault as fault:
        return warn(
            about, f"{told}; whether it takes pictures does not show: {fault}.", "Look into the server's own log."
        )
    if not sees and remote.images != "ask":
        return warn(about, f"{told} and takes no pictures.", f"Set [{at}] images to 0.")
    return ok(about, f"{told} and takes {'pictures' if sees else 'no pictures'}.")
