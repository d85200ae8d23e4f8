"""The slash commands: what they are called, and how Discord learns of them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import discord
from discord import app_commands

Called = Callable[[discord.Interaction, str], Awaitable[None]]
"""Takes the name of the command that a person called."""


@dataclass(frozen=True, slots=True)
class Slash:
    """One command of the menu."""

    name: str
    description: str


COMMANDS = (
    Slash("latency", "Shows where the time of recent answers went"),
    Slash("new", "Begins a new conversation: what was said before is forgotten"),
    Slash("stop", "Stops the answer that is being written"),
    Slash("help", "Says what this bot can do"),
)
PRIVATE = True
"""Whether a command whose answer takes its time is acknowledged for the caller's eyes only; all of these are."""


def fill(tree: app_commands.CommandTree[Any], called: Called) -> None:
    """Put every command into ``tree``; each calls ``called``."""
    for slash in COMMANDS:
        tree.add_command(_command(slash, called))


async def register(tree: app_commands.CommandTree[Any], guild: discord.Object | None) -> bool:
    """Tell Discord about the commands when it knows others; whether it was told.

    Registering is rationed (200 a day), so a restart should not do it for nothing. Raises `discord.HTTPException`.
    """
    if guild is not None:
        tree.copy_global_to(guild=guild)
    wanted = {_essence(command.to_dict(tree)) for command in tree.get_commands(guild=guild)}
    known = {_essence(command.to_dict()) for command in await tree.fetch_commands(guild=guild)}
    if wanted == known:
        return False
    await tree.sync(guild=guild)
    return True


def _command(slash: Slash, called: Called) -> app_commands.Command[Any, ..., None]:
    async def call(interaction: discord.Interaction) -> None:
        await called(interaction, slash.name)

    return app_commands.Command(name=slash.name, description=slash.description, callback=call)


def _essence(command: Any) -> tuple[Any, ...]:
    """What makes a command the same for its users, whether it comes from Discord or from here."""
    options = [(each["name"], each["type"], bool(each.get("required"))) for each in command.get("options") or []]
    return command["name"], command["description"], tuple(options)
