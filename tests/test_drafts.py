"""Stop on a draft: there is no message yet that it could name, so it names the reply."""

from collections.abc import Callable

from clawdbot.chat import Conversation, Pressed
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
