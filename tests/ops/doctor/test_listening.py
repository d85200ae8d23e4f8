"""Whether the bot's own web server could have its address."""

import socket

from clawdbot.ops.doctor.finding import Level
from clawdbot.ops.doctor.listening import free
from clawdbot.settings.config import OpsSettings


def taken() -> socket.socket:
    """A socket that listens on some port of this machine."""
    return socket.create_server(("127.0.0.1", 0))


def test_a_port_that_another_program_has_fails() -> None:
    """The bot would end at its start."""
    with taken() as other:
        port = other.getsockname()[1]
        found = free("ops port", OpsSettings(port=port))

    assert found.level is Level.FAIL
    assert f"Port {port} of 127.0.0.1 cannot be used: Address already in use." in found.text
    assert "[ops] port" in found.remedy


def test_a_free_port_is_well_and_stays_free() -> None:
    with taken() as other:
        port = other.getsockname()[1]

    assert free("ops port", OpsSettings(port=port)).level is Level.OK
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_a_host_that_is_none_fails() -> None:
    assert free("ops port", OpsSettings(host="127.0.0.1:80")).level is Level.FAIL
