"""How long a server may take."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Waits:
    """The most seconds for each thing that is waited for."""

    connect: float = 5.0
    first_token: float = 120.0
    """From the request to the first token: the server's own queue is part of it."""
    token: float = 60.0
    """Between two tokens."""
    check: float = 5.0
    """For everything that is no answer."""
