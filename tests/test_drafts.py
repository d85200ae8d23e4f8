"""Drafts: what is kept of one, and Stop on one, which names the reply since there is no message yet."""

from collections.abc import Callable

from clawdbot.answers.draft import Draft
from clawdbot.chat import Conversation, Pressed, State
from clawdbot.store import Answer
from clawdbot.testing.rig import ADA, Rig, slow

NewRig = Callable[..., Rig]


async def test_it_stops_the_answer_of_that_reply(rig: NewRig) -> None:
    """Another one waits its turn in the same conversation."""
    bot = rig(slow)
    async with bot.running():
        first, second = bot.platform.say("Count"), bot.platform.say("And again")
        await bot.advance(1.5)
        bot.platform.tell(Pressed(Conversation("memory", 1), ADA, "stop", second.ref), second)
        await bot.idle()
        assert first.screen.texts == ["One two three four."]
        assert second.screen.texts == ["*(stopped)*"]
        await bot.stop()


async def test_one_that_comes_too_late_does_nothing(rig: NewRig) -> None:
    bot = rig(slow)
    async with bot.running():
        first = bot.platform.say("Count")
        await bot.idle()
        second = bot.platform.say("And again")
        await bot.advance(1.5)
        bot.platform.tell(Pressed(Conversation("memory", 1), ADA, "stop", first.ref), first)
        await bot.idle()
        assert [reply.screen.texts for reply in (first, second)] == [["One two three four."]] * 2
        await bot.stop()


def test_what_a_dead_engine_wrote_is_forgotten_with_whose_tokens_it_were() -> None:
    """The next engine may have another tokenizer; a stop before it is there keeps what was written first."""
    begun = Answer("One ", State.INTERRUPTED, "first", [1], [2])
    draft = Draft.after(begun)
    draft.tokenizer, draft.tokens, draft.question_tokens = "second", [3, 4], [5]
    draft.forget()

    assert draft.answer(State.INTERRUPTED) == begun
