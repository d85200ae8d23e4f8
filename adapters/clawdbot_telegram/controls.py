"""The buttons below an answer, and what is said to whoever presses one.

Their data is the name of the control and, behind a colon, the forum topic that it stands in: of a message that is too
old to be seen Telegram tells the chat alone.
"""

from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from clawdbot.chat import Frame, State

_BELOW = {
    State.WAITING: "stop",
    State.STREAMING: "stop",
    State.INTERRUPTED: "continue",
    State.FINAL: "regenerate",
    State.STOPPED: "regenerate",
}
"""By the state of a frame, `Pressed.control` of its button."""
_SAID = {
    "stop": "Stopping, if there is still something to stop.",
    "continue": "Going on, if there is still something to go on with.",
    "regenerate": "Writing another answer, if you may have one.",
}
"""By `Pressed.control`; true of a button that has outlived its answer, too. Telegram shows 200 characters."""
SAID_OF_OTHERS = "This button does nothing any more."
_LONGEST = 20
"""Digits of a topic's number at most."""


def controls(frame: Frame, topic: int = 0) -> InlineKeyboardMarkup | None:
    """The buttons below ``frame``, which is shown in ``topic``: only the last message of an answer has any."""
    control = _BELOW.get(frame.state) if frame.last else None
    if control is None:
        return None
    data = f"{control}:{topic}" if topic else control
    return InlineKeyboardMarkup([[InlineKeyboardButton(control.capitalize(), callback_data=data)]])


def pressed(data: str) -> tuple[str, int]:
    """`Pressed.control` and the topic that a button's ``data`` names; topic 0 where it names none."""
    control, _, topic = data.partition(":")
    named = topic.isascii() and topic.isdecimal() and len(topic) <= _LONGEST
    return control, int(topic) if named else 0


def notice(data: str) -> str:
    """What is said to whoever pressed a button with this ``data``."""
    return _SAID.get(pressed(data)[0], SAID_OF_OTHERS)
