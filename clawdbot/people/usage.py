"""What somebody has used, and how long their conversation is: `/usage`."""

from dataclasses import dataclass

from clawdbot.errors import EngineError
from clawdbot.models import Model
from clawdbot.people.quota import Used
from clawdbot.prompts.style import Style
from clawdbot.settings.config import Quota
from clawdbot.store import Store


@dataclass(frozen=True, slots=True)
class Size:
    """How long a conversation is."""

    exchanges: int
    """Questions with their answers, as far as the next prompt has them."""
    tokens: int | None
    """What the next prompt has before its question; None while no engine can tell."""
    context: int | None
    """What prompt and answer may have together; None while there is no engine."""
    over: bool = False
    """Whether it was idle for so long that the next question begins a new one."""


async def measured(conversation: str, store: Store, model: Model, style: Style) -> Size:
    """How long ``conversation`` (a `Conversation.key`) is in the next prompt to ``model``. Raises `StoreError`."""
    over = await store.is_idle(conversation)
    host, info = model.host, model.host.info
    engine = await host.engine() if host.ready else None
    whose = engine.tokenizer.fingerprint if engine else ""
    history = [] if over else await store.history(conversation, whose, model=model.name)
    if info is None or engine is None:
        return Size(len(history) // 2, None, info.context if info else None, over)
    try:
        made = await style.compose(engine, history, "")
    except EngineError:  # the system prompt fills all the room, or the engine went away meanwhile
        return Size(len(history) // 2, None, info.context, over)
    left = history if made.first_turn is None else [turn for turn in history if turn.id >= made.first_turn]
    return Size(len(left) // 2, made.beginning, info.context, over)


def usage(used: Used, quota: Quota, size: Size) -> str:
    """The text; ``quota`` is what holds for whoever asks."""
    return "\n".join(
        (
            f"This hour: {_messages(used.messages_per_hour, quota.messages_per_hour)}, "
            f"{_tokens(used.tokens_per_hour, quota.tokens_per_hour)}.",
            f"This day: {_messages(used.messages_per_day, quota.messages_per_day)}, "
            f"{_tokens(used.tokens_per_day, quota.tokens_per_day)}.",
            _conversation(size),
        )
    )


def _messages(used: int, limit: int) -> str:
    return f"{used:,} of {limit:,} messages" if limit else _counted(used, "message")


def _tokens(used: int, limit: int) -> str:
    return f"{used:,} of {limit:,} tokens" if limit else _counted(used, "token")


def _conversation(size: Size) -> str:
    said = f"This conversation: {_counted(size.exchanges, 'question')} with answers"
    if size.tokens is not None and size.context is not None:
        said += f", {size.tokens:,} of {size.context:,} tokens"
    return f"{said}. It is over: your next question begins a new one." if size.over else f"{said}."


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
