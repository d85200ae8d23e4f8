"""Small calls beside the answers: menus, acknowledged presses, warm connections."""

import asyncio
from collections.abc import Callable, Coroutine
from math import inf
from typing import Any

from telegram import Bot, BotCommand, BotCommandScopeAllGroupChats, BotCommandScopeAllPrivateChats
from telegram.error import RetryAfter, TelegramError

from clawdbot.clock import Clock
from clawdbot.menu import COMMANDS
from clawdbot_telegram.translate import seconds

Call = Callable[[], Coroutine[Any, Any, object]]


class Errands:
    """Calls that nobody waits for and whose failure does no harm.

    The core's budgets know nothing of them, so they keep away from Telegram by themselves when it asks for that: none
    is made until the wait of the last refusal is over.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed_until = -inf

    def run(self, call: Call, *, late: bool = False) -> None:
        """Make ``call`` in a task of its own; ``late`` when it is still worth making after a refusal's wait."""
        task = asyncio.create_task(self._run(call, late))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def cancel(self) -> None:
        """Give up those that are under way."""
        for task in self._tasks:
            task.cancel()

    async def _run(self, call: Call, late: bool) -> None:
        while (wait := self._closed_until - self._clock.now()) <= 0 or late:
            await self._clock.sleep(wait)
            try:
                await call()
            except RetryAfter as refusal:
                asked = self._clock.now() + seconds(refusal.retry_after)
                self._closed_until = max(self._closed_until, asked)
            except TelegramError:
                return
            else:
                return


async def offer_menus(bot: Bot) -> None:
    """Put the commands into the menus of private chats and of groups. Raises `TelegramError`."""
    menu = [BotCommand(command.name, command.about) for command in COMMANDS]
    await bot.set_my_commands(menu, scope=BotCommandScopeAllPrivateChats())
    await bot.set_my_commands(menu, scope=BotCommandScopeAllGroupChats())
