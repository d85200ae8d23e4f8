"""The buttons below an answer, and what is said to whoever presses one."""

from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from clawdbot.chat import Frame, State

STOP = InlineKeyboardMarkup([[InlineKeyboardButton("Stop", callback_data="stop")]])
CONTINUE = InlineKeyboardMarkup([[InlineKeyboardButton("Continue", callback_data="continue")]])
REGENERATE = InlineKeyboardMarkup([[InlineKeyboardButton("Regenerate", callback_data="regenerate")]])

SAID = {
    "stop": "Stopping, if there is still something to stop.",
    "continue": "Going on, if there is still something to go on with.",
    "regenerate": "Writing another answer, if you may have one.",
}
"""By `Pressed.control`; true of a button that has outlived its answer, too. Telegram shows 200 characters."""
SAID_OF_OTHERS = "This button does nothing any more."


def controls(frame: Frame) -> InlineKeyboardMarkup | None:
    """The buttons below ``frame``: only the last message of an answer has any."""
    if not frame.last:
        return None
    match frame.state:
        case State.WAITING | State.STREAMING:
            return STOP
        case State.INTERRUPTED:
            return CONTINUE
        case State.FINAL | State.STOPPED:
            return REGENERATE
    return None
