"""Codes by which an admin lets somebody into a private chat. What is stored of a code does not tell it."""

import hmac
import secrets
from collections.abc import Iterable
from hashlib import sha256

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
"""Without signs that are taken for one another: 5 bits each."""
GROUPS, GROUP = 3, 4
"""Twelve signs are 60 bits: within its life nobody guesses one, nor finds it from what the database holds."""
LIFE = 600.0
"""Seconds in which a code is good."""

TRIES_WINDOW = 3600.0
"""Seconds that wrong tries are counted for."""
MOST_TRIES_OF_ONE = 5
MOST_TRIES_OF_ALL = 100
"""Wrong codes within that time; after so many no code is looked at."""


def new_code() -> str:
    """A code as it is read out: "7KQM-2XJD-9FTP"."""
    return "-".join("".join(secrets.choice(ALPHABET) for _ in range(GROUP)) for _ in range(GROUPS))


def digest(code: str) -> bytes:
    """What a code is stored as; case, blanks and dashes do not matter."""
    return sha256("".join(code.upper().replace("-", " ").split()).encode("utf-8", "surrogatepass")).digest()


def find(stored: Iterable[bytes], code: str) -> bytes | None:
    """The one of the ``stored`` digests that is ``code``'s, in a time that tells nothing of them."""
    wanted = digest(code)
    return next((each for each in [each for each in stored if hmac.compare_digest(each, wanted)]), None)
