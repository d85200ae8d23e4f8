"""`/persona` and `/model`: what there is, and who may choose. What they say is in `clawdbot.words`."""

from collections.abc import Mapping

from clawdbot import words
from clawdbot.chat import Conversation
from clawdbot.commands.choices import Choice


def may_choose(where: Conversation, *, admin: bool) -> bool:
    """Whether somebody may choose for a conversation: for their own, or as an admin for one of several people."""
    return admin or where.private or where.person != 0


def listed(choice: Choice, where: Conversation, states: Mapping[str, str], *, admin: bool) -> str:
    """What there is, what the conversation has, and how to choose; ``states``: what else some of them are, by name."""
    head = words.CHOSEN_HERE.format(kind=choice.kind, name=choice.of(where.key))
    if len(choice.options) == 1:
        return f"{head} {words.NO_OTHER.format(kind=choice.kind)}"
    told = {name: "; ".join(filter(None, (about, states.get(name)))) for name, about in choice.options.items()}
    lines = [f"* {name}: {about}" if about else f"* {name}" for name, about in told.items()]
    foot = words.HOW_TO_CHOOSE.format(kind=choice.kind) if may_choose(where, admin=admin) else words.ADMINS_CHOOSE
    return "\n\n".join((head, "\n".join(lines), foot))


def chosen(choice: Choice, name: str, states: Mapping[str, str]) -> str:
    """That the conversation has the one called ``name`` now."""
    said = words.CHOSEN.format(kind=choice.kind, name=name)
    return f"{said} It {states[name]}." if name in states else said


def unknown(choice: Choice) -> str:
    """That there is none of that name, and which there are."""
    return words.NO_SUCH_CHOICE.format(kind=choice.kind, names=", ".join(choice.options))
