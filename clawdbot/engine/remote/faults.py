"""What goes wrong with a call to a server, and whom it says something about."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto

import openai


class Blame(Enum):
    """Whom a failed call says something about."""

    SERVER = auto()
    """It is away, ill, or not what was looked for; another one may do better."""
    LOAD = auto()
    """It has too much to do just now; another one may have less."""
    REQUEST = auto()
    """No server will take this."""


class Fault(Exception):
    """One call to one server has failed; this never leaves the package.

    ``lasting`` is what waiting does not mend: a wrong key, a model that is not served there.
    """

    def __init__(self, reason: str, blame: Blame = Blame.SERVER, *, lasting: bool = False) -> None:
        self.blame = blame
        self.lasting = lasting
        super().__init__(reason)

    @property
    def refuses(self) -> bool:
        """Whether the server took the request for one that it will not answer, or does not know such requests."""
        return self.blame is Blame.REQUEST or isinstance(self, NoSuchPage)


class NoSuchPage(Fault):
    """404: the server has none there, or another model than was asked for."""


@contextmanager
def translated() -> Iterator[None]:
    """Turn what the library raises inside into a `Fault`."""
    try:
        yield
    except TimeoutError as error:
        raise Fault("it did not answer in time") from error
    except openai.APIConnectionError as error:
        raise Fault(f"the connection failed ({type(error.__cause__ or error).__name__})") from error
    except openai.NotFoundError as error:
        raise NoSuchPage(f"404: {error.message}", lasting=True) from error
    except openai.APIStatusError as error:
        raise _fault(error.status_code, error.message) from error
    except openai.APIError as error:
        # An event of the stream says it; the response itself was a success.
        raise _fault(int(error.code) if error.code and error.code.isdigit() else 500, error.message) from error
    except ValueError as error:
        raise Fault(f"it does not speak vLLM's form of the protocol ({error})") from error


def _fault(code: int, message: str) -> Fault:
    """What an HTTP status means."""
    text = f"{code}: {message}"
    if code in (401, 403):
        where = "CLAWDBOT_ENGINE_API_KEY, or CLAWDBOT_MODEL_NAME_API_KEY for [models.NAME]"
        return Fault(f"{text} (it wants another key: {where})", lasting=True)
    if code in (408, 425, 429):
        return Fault(text, Blame.LOAD)
    return Fault(text, Blame.SERVER if code >= 500 or code == 404 else Blame.REQUEST)
