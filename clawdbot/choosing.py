"""`/persona` and `/model`: what there is, and who may choose. What they say is in `clawdbot.words`."""

from clawdbot import words
from clawdbot.chat import Conversation
from clawdbot.choices import Choice


def may_choose(where: Conversation, *, admin: bool) -> bool:
    """Whether somebody may choose for a conversation: for their own, or as an admin for one of several people."""
    return admin or where.private or where.person != 0


def listed(choice: Choice, where: Conversation, *, admin: bool) -> str:
    """What there is, what the conversation has, and how to choose."""
    head = words.CHOSEN_HERE.format(kind=choice.kind, name=choice.of(where.key))
    if len(choice.options) == 1:
        return f"{head} {words.NO_OTHER.format(kind=choice.kind)}"
    lines = [f"* {name}: {about}" if about else f"* {name}" for name, about in choice.options.items()]
    foot = words.HOW_TO_CHOOSE.format(kind=choice.kind) if may_choose(where, admin=admin) else words.ADMINS_CHOOSE
    return "\n\n".join((head, "\n".join(lines), foot))


def unknown(choice: Choice) -> str:
    """That there is none of that name, and which there are."""
    return words.NO_SUCH_CHOICE.format(kind=choice.kind, names=", ".join(choice.options))
