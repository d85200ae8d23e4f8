"""The buttons below an answer."""

import discord

from clawdbot.chat import Frame, State

STOP = "clawdbot:stop"
"""The ``custom_id`` of the Stop button. It never changes, so that buttons outlive a restart."""

CONTROLS = {STOP: "stop"}
"""What a pressed button means to the core: `Pressed.control` by ``custom_id``."""


def controls(frame: Frame) -> discord.ui.View | None:
    """The buttons that ``frame`` is shown with: Stop as long as there is something to stop."""
    if not frame.last or frame.state not in (State.WAITING, State.STREAMING):
        return None
    view = discord.ui.View(timeout=None)
    view.add_item(discord.ui.Button(label="Stop", custom_id=STOP, style=discord.ButtonStyle.secondary))
    # A finished view is drawn like any other, but discord.py keeps none: presses are told apart by custom_id alone.
    view.stop()
    return view
