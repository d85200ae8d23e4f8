"""The slash commands: how Discord learns of them."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import discord
from discord import app_commands

from clawdbot.menu import COMMANDS, Command, Suggest
from clawdbot_discord import events

Called = Callable[[discord.Interaction, str], Awaitable[None]]
"""Takes what a person called, as the text of a message would say it."""


SUGGESTIONS = 25
"""So many Discord shows at most."""
LONGEST = 100
"""Characters of a suggestion that Discord takes."""
PRIVATE = True
"""Whether a command whose answer takes its time is acknowledged for the caller's eyes only; all of these are."""


def fill(tree: app_commands.CommandTree[Any], called: Called, suggest: Suggest) -> None:
    """Put every command into ``tree``; each calls ``called``, and ``suggest`` while its argument is typed."""
    for command in COMMANDS:
        tree.add_command(_slash(command, called, suggest))


def nearest(names: Sequence[str], typed: str) -> list[str]:
    """Those of ``names`` that hold what was ``typed``, as many as Discord shows; first those that begin so."""
    fitting = [name for name in names if typed.casefold() in name.casefold() and len(name) <= LONGEST]
    return sorted(fitting, key=lambda name: not name.casefold().startswith(typed.casefold()))[:SUGGESTIONS]


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


def _slash(command: Command, called: Called, suggest: Suggest) -> app_commands.Command[Any, ..., None]:
    async def call(interaction: discord.Interaction) -> None:
        await called(interaction, f"/{command.name}")

    async def call_with(interaction: discord.Interaction, argument: str = "") -> None:
        await called(interaction, f"/{command.name} {argument}".strip())

    async def complete(interaction: discord.Interaction, typed: str) -> list[app_commands.Choice[str]]:
        where = events.conversation(interaction.channel_id or 0, interaction.guild_id)
        names = suggest(command.name, where, events.person(interaction.user))
        return [app_commands.Choice(name=name, value=name) for name in nearest(names, typed)]

    if not command.argument:
        return app_commands.Command(name=command.name, description=command.about, callback=call)
    named = app_commands.rename(argument=command.argument)(call_with)
    if command.choices:
        choices = [app_commands.Choice(name=choice, value=choice) for choice in command.choices]
        named = app_commands.choices(argument=choices)(named)
    if command.suggested:
        named = app_commands.autocomplete(argument=complete)(named)
    return app_commands.Command(name=command.name, description=command.about, callback=named)


def _essence(command: Any) -> tuple[Any, ...]:
    """What makes a command the same for its users, whether it comes from Discord or from here."""
    options = [
        (
            each["name"],
            each["type"],
            bool(each.get("required")),
            tuple(one["value"] for one in each.get("choices") or []),
            bool(each.get("autocomplete")),
        )
        for each in command.get("options") or []
    ]
    return command["name"], command["description"], tuple(options)
