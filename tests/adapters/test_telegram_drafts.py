"""A whole answer that grows as a draft: core and adapter as they are, on a simulated Telegram over real HTTP."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from itertools import pairwise

from pydantic import SecretStr

from clawdbot.chat import Reply, State
from clawdbot.delivery.live import LiveReply
from clawdbot.delivery.pace import Budgets
from clawdbot.testing.contract import Ears
from clawdbot.testing.telegram import SimTelegram, Verdict
from clawdbot_telegram import TelegramAdapter, TelegramSettings

ME = 7
WORDS = [f"word{number} " for number in range(60)]
ANSWER = "".join(WORDS).strip()


@asynccontextmanager
async def asked(lacks: Collection[str] = ()) -> AsyncIterator[tuple[SimTelegram, Reply]]:
    """A question on a Telegram that ``lacks`` some methods, and where its answer goes."""
    async with SimTelegram(lacks=lacks) as sim:
        settings = TelegramSettings(token=SecretStr(sim.token), base_url=sim.url, drafts=True)
        ears = Ears()
        task = asyncio.create_task(TelegramAdapter(settings).run(ears.receive))
        await sim.online()
        sim.say(ME, "hi")
        yield sim, (await ears.question())[1]
        task.cancel()
        await asyncio.wait((task,))


async def speak(sim: SimTelegram, reply: Reply) -> None:
    """Let a model say the answer, thirty words a second."""
    async with LiveReply(reply, key="k", budgets=Budgets(), clock=sim.clock) as live:
        for count in range(1, len(WORDS) + 1):
            live.show("".join(WORDS[:count]))
            await sim.clock.sleep(1 / 30)
        await live.finish(ANSWER, State.FINAL)


async def test_it_is_read_while_it_grows_and_is_one_message_at_its_end() -> None:
    async with asked() as (sim, reply):
        await speak(sim, reply)
        seen = [draft.text for draft in sim.drafts(ME)]
        assert len(seen) >= 3
        assert all(ANSWER.startswith(text) for text in seen)
        assert [[look.text for look in shown.looks] for shown in sim.answers(ME)] == [[ANSWER]]
        assert sim.draft(ME) is None
        assert sim.counted("editMessageText") == 0
        assert sim.counted(verdict=Verdict.LIMITED) == 0


async def test_where_there_are_none_it_grows_by_edits_no_faster_than_they_may() -> None:
    async with asked(lacks={"sendMessageDraft"}) as (sim, reply):
        await speak(sim, reply)
        (shown,) = sim.answers(ME)
        assert shown.text == ANSWER
        assert len(shown.looks) >= 2
        assert sim.counted("sendMessageDraft") == 1
        assert all(later.at - earlier.at > 0.35 for earlier, later in pairwise(shown.looks[:-1]))
        assert sim.counted(verdict=Verdict.LIMITED) == 0
