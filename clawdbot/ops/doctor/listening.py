"""Whether the bot's own web server can have the address that it is meant to have."""

import os
import socket

from clawdbot.ops.doctor.finding import Finding, fail, ok
from clawdbot.settings.config import OpsSettings


def free(about: str, ops: OpsSettings) -> Finding:
    """Whether nobody else has the address. It is only bound to, never listened on, so it is in nobody's way."""
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(
            ops.host, ops.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            _bind(family, kind, protocol, address)
    except OSError as error:
        # Names that lead nowhere have negative numbers.
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        told = f"Port {ops.port} of {ops.host} cannot be used: {reason}."
        return fail(about, told, "End the program that has it, or choose another one: [ops] port, [ops] host.")
    return ok(about, "Any port will do." if ops.port == 0 else f"Port {ops.port} is free.")


def _bind(family: int, kind: int, protocol: int, address: tuple[object, ...]) -> None:
    """Take the address as the server will, and give it back. Raises OSError."""
    with socket.socket(family, kind, protocol) as mine:
        mine.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            mine.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        mine.bind(address)
