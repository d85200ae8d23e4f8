"""What one person asks must not hold up the others: how long the event loop's thread itself is busy with it.

Processor time of that thread alone, so that neither a busy machine nor the threads of database and tokenizer count. The
bound is far above what the whole way of a question takes, the test's own looking included (2 to 6 ms on two cores).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest

from clawdbot.attached import Attachment
from clawdbot.chat import Conversation, Message, State
from clawdbot.engine.tokenizer import ChatTokenizer
from clawdbot.prompts.prompt import Room, compose
from clawdbot.settings.config import AnswerSettings
from clawdbot.store import Answer, Question, Turn, open_store
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.engine import CharacterTokenizer, Script
from clawdbot.testing.memory import limits
from clawdbot.testing.rig import ADA, Rig

NewRig = Callable[..., Rig]

MOST = 0.05
"""Seconds."""
HISTORY = ["Tell me of herons. " * 40, "And of storks. " * 50]
"""Questions before the one that counts: with their answers about 3,000 tokens."""


class Laborious:
    """A model's tokenizer that has to work for every text."""

    chat_template = "a role, then what it says"
    added_tokens_decoder: Mapping[int, object] = MappingProxyType({})

    def get_vocab(self) -> dict[str, int]:
        return {chr(code): code for code in range(128)}

    def encode(self, text: str, **options: bool) -> list[int]:
        end = time.thread_time() + MOST
        while time.thread_time() < end:
            pass
        return [ord(character) for character in text]

    def apply_chat_template(self, turns: Sequence[dict[str, str]], **options: bool) -> str:
        return "".join(f"<{turn['role']}>{turn['content']}" for turn in turns) + "<assistant>"


async def test_tokens_are_made_elsewhere() -> None:
    """Template, system prompt, history and question: nothing of it is work for the loop."""
    tokenizer = ChatTokenizer(Laborious())
    history = [Turn(2, "user", "Hello", None), Turn(3, "assistant", "Hi.", None)]
    begun = time.thread_time()

    made = await compose(tokenizer, "Be kind.", history, "q" * 30_000, Room(40_000, 1000))

    assert time.thread_time() - begun < MOST
    assert len(made.tokens) > 30_000
    tokenizer.close()


async def test_a_long_question_behind_a_long_history_reaches_the_engine(rig: NewRig) -> None:
    bot = rig(lambda request: Script(["Yes."]), answers=AnswerSettings(system_prompt="", max_tokens=8))
    async with bot.running():
        for said in HISTORY:
            bot.platform.say(said)
            await bot.idle()
        begun = time.thread_time()
        bot.platform.say("x" * 6000)
        await bot.until(lambda: len(bot.requests) == len(HISTORY) + 1)

        assert time.thread_time() - begun < MOST


async def test_a_question_that_is_far_too_long_is_refused(rig: NewRig) -> None:
    """A megabyte: neither stored nor tokenized."""
    bot = rig()
    async with bot.running():
        await bot.rest()
        begun = time.thread_time()
        answer = bot.platform.say("x" * 1_000_000)
        await bot.until(lambda: bool(answer.screen.texts))

        assert time.thread_time() - begun < MOST
        assert bot.requests == []


async def test_files_as_large_as_may_come_are_weighed(rig: NewRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten megabytes: what they say is put together and packed for the store elsewhere."""

    async def encode(self: CharacterTokenizer, text: str) -> list[int]:
        return [0] * (len(text) // 100)

    monkeypatch.setattr(CharacterTokenizer, "encode", encode)
    bot = rig()
    async with bot.running():
        await bot.rest()
        begun = time.thread_time()
        answer = bot.platform.say("Well?", files={f"{number}.txt": b"Of herons.\n" * 90_000 for number in range(10)})
        await bot.until(lambda: any("too long" in text for text in answer.screen.texts))

        assert time.thread_time() - begun < MOST
        assert bot.requests == []


async def test_the_first_words_of_an_answer_reach_the_platform(rig: NewRig) -> None:
    """A long answer that comes all at once, as from an engine that was ahead of its reader."""
    bot = rig(lambda request: Script(["Yes, ", *["and so on "] * 500]))
    async with bot.running():
        await bot.rest()
        begun = time.thread_time()
        answer = bot.platform.say("Hello", allowed=limits(size=100_000))
        await bot.until(lambda: bool(answer.screen.texts))

        assert time.thread_time() - begun < MOST


async def test_a_history_of_large_documents_is_read_elsewhere(tmp_path: Path, clock: ManualClock) -> None:
    """Twelve megabytes, as files of text that came along with forty questions."""
    text, tokens = "A heron stands in the reeds. " * 10_000, [*range(70_000)]
    where = Conversation("memory", 1, private=True)
    async with open_store(tmp_path / "large.sqlite3", clock) as store:
        for number in range(40):
            file = Attachment("birds.txt", "text/plain", len(text), "ref", text)
            message = Message(str(number), where, ADA, "Which bird?", clock.now(), files=(file,))
            kept = await store.ask(Question(message, "ref"))
            assert kept is not None
            await store.finish(kept.reply, Answer("A heron.", State.FINAL, "here", tokens, tokens[:3]))
        begun = time.thread_time()

        turns = await store.history(where.key, "here")

        assert time.thread_time() - begun < MOST
    assert len(turns) == 80
    assert sum(len(turn.text) for turn in turns) > 40 * len(text)
