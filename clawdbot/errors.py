"""Every error that crosses a border of this project, as one tree.

ClawdBotError
 +- ConfigError              the configuration cannot be used: file, key, value, what is allowed
 +- StoreError               the database cannot be read or written
 +- EngineError
 |   +- EngineUnavailable    it cannot start here: no vLLM, no such model, no memory; says what to do
 |   +- EngineDown           it could not be opened, and nobody is to wait until that works
 |   +- EngineDead           it ran and died; every running answer is lost with it
 |   +- GenerationFailed     one answer failed, the engine goes on
 |   +- PromptTooLong        more tokens than the context has room for
 |   +- PicturesRefused      pictures that it does not take, or not so many
 +- Unreadable               a question holds something that the bot cannot read
 +- AdapterError             one platform cannot be served
 |   +- Unauthorized         the token is missing, malformed or refused; trying again will not help
 +- DeliveryError            one call to a platform did not do what it should
     +- Limited              refused for now: not before `retry_after` seconds
     +- Unreachable          it certainly had no effect and may be tried again: connection refused, 500, 502
     +- Unsure               it may have had its effect: time-out, connection lost after the request was written
     +- Rejected             this content will never be taken
     +- Gone                 the message or chat no longer exists
     +- Moved                the chat has another number now, by which its messages are not known
     +- Forbidden            the bot may not write there: blocked, removed, no permission

Foreign exceptions are translated into these once, in the module that calls the foreign library.
"""

from collections.abc import Sequence


class ClawdBotError(Exception):
    """The root. Its text is a sentence for the admin; users never see it."""


class ConfigError(ClawdBotError):
    """The configuration cannot be used.

    ``faults`` are whole sentences, each naming key, value and what is allowed; ``source`` is the file or variable.
    """

    def __init__(self, source: str, *faults: str) -> None:
        self.source = source
        self.faults = faults
        super().__init__(f"{source}: " + "; ".join(faults))


class StoreError(ClawdBotError):
    """The database cannot be read or written: locked for too long, disk full, not a database."""


class EngineError(ClawdBotError):
    """Something about the language model's engine."""


class EngineUnavailable(EngineError):
    """The engine cannot start on this machine; ``remedy`` is a sentence that says what to do."""

    def __init__(self, reason: str, remedy: str) -> None:
        self.reason = reason
        self.remedy = remedy
        super().__init__(f"{reason} {remedy}")


class EngineDown(EngineError):
    """The engine could not be opened; nobody knows when it will be there, and others may answer meanwhile."""


class EngineDead(EngineError):
    """The engine died; it has to be started again before anything can be generated."""


class GenerationFailed(EngineError):
    """One generation failed; the engine goes on."""


class PromptTooLong(EngineError):
    """A question that does not fit the model's context; ``tokens`` and ``limit`` are counts of tokens.

    ``files``: name and tokens of each that came with it. ``least``: there are ``tokens`` or more, nobody counted on.
    """

    def __init__(self, tokens: int, limit: int, files: Sequence[tuple[str, int]] = (), *, least: bool = False) -> None:
        self.tokens = tokens
        self.limit = limit
        self.least = least
        self.files = tuple(files)
        size = f"at least {tokens:,}" if least else f"{tokens:,}"
        super().__init__(f"The question has {size} tokens; there is room for {limit:,}.")


class PicturesRefused(EngineError):
    """The engine does not take the pictures of a question; ``limit`` is how many it takes, None when it did not say."""

    def __init__(self, reason: str, limit: int | None = None) -> None:
        self.limit = limit
        super().__init__(reason)


class Unreadable(ClawdBotError):
    """A question holds something that the bot cannot read; ``said`` is the sentence for whoever sent it."""

    def __init__(self, said: str) -> None:
        self.said = said
        super().__init__(said)


class AdapterError(ClawdBotError):
    """A platform cannot be served at present; a supervisor may try again."""


class Unauthorized(AdapterError):
    """The platform refuses the bot's token or lacks a permission that only its owner can give."""


class DeliveryError(ClawdBotError):
    """A call to a platform did not do what it should."""


class Limited(DeliveryError):
    """The platform refuses calls for now.

    ``retry_after`` is in seconds, as the platform gave it; ``everywhere`` says that it holds for the whole bot and not
    only for the place that was called.
    """

    def __init__(self, retry_after: float, *, everywhere: bool = False) -> None:
        self.retry_after = retry_after
        self.everywhere = everywhere
        super().__init__(f"The platform asks to wait {retry_after:g} s.")


class Unreachable(DeliveryError):
    """The call certainly had no effect; trying it again is safe."""


class Unsure(DeliveryError):
    """The call may or may not have had its effect: no answer came back."""


class Rejected(DeliveryError):
    """The platform will never take this content; trying again does not help."""


class Gone(DeliveryError):
    """The message or the chat does not exist any more."""


class Moved(DeliveryError):
    """The chat is another one now, ``to``, in which nothing of the answer is; the call had no effect.

    Another try goes there: a send at once, an edited message has to be sent again.
    """

    def __init__(self, to: int) -> None:
        self.to = to
        super().__init__(f"The chat has the number {to} now.")


class Forbidden(DeliveryError):
    """The bot may not write there."""
