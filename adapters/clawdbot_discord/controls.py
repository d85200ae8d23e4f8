"""The buttons below an answer.

Their ids never change, so that buttons outlive a restart. Behind the name of the control they carry the key of the part
that was sent with them: by it a message is found again of which nobody knew that it was posted.
"""

import discord

from clawdbot.chat import Frame, State

STOP, CONTINUE, REGENERATE = "clawdbot:stop", "clawdbot:continue", "clawdbot:regenerate"

CONTROLS = {STOP: "stop", CONTINUE: "continue", REGENERATE: "regenerate"}
"""What a pressed button means to the core: `Pressed.control` by how its ``custom_id`` begins."""
_LABELS = {STOP: "Stop", CONTINUE: "Continue", REGENERATE: "Regenerate"}
_BELOW = {
    State.WAITING: STOP,
    State.STREAMING: STOP,
    State.INTERRUPTED: CONTINUE,
    State.FINAL: REGENERATE,
    State.STOPPED: REGENERATE,
}


def controls(frame: Frame, key: str = "") -> discord.ui.View | None:
    """The buttons of the part ``key`` while it shows ``frame``: Stop, Continue or Regenerate below the last one."""
    button = _BELOW.get(frame.state) if frame.last else None
    if button is None:
        return None
    view = discord.ui.View(timeout=None)
    custom_id = f"{button}:{key}" if key else button
    view.add_item(discord.ui.Button(label=_LABELS[button], custom_id=custom_id, style=discord.ButtonStyle.secondary))
    # A finished view is drawn like any other, but discord.py keeps none: presses are told apart by custom_id alone.
    view.stop()
    return view


def ids_of(message: discord.Message) -> set[str]:
    """The ids of the buttons below a message."""
    rows = (row for row in message.components if isinstance(row, discord.ActionRow))
    return {item.custom_id or "" for row in rows for item in row.children if isinstance(item, discord.Button)}


def control_of(custom_id: str) -> str | None:
    """What a pressed button means to the core; None for one that is not of this bot's, or not any more."""
    return CONTROLS.get(":".join(custom_id.split(":")[:2]))


def key_of(custom_id: str) -> str:
    """The key of the part that a button was sent with; empty for none."""
    *button, key = custom_id.split(":", 2)
    return key if ":".join(button) in CONTROLS else ""
