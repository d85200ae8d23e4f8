"""What every adapter has to do, as checks that any test suite can run on it.

Write a `Harness` for the platform, then run each of `CHECKS` on a fresh one. A check fails by AssertionError, or by
TimeoutError when something that had to come did not.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from enum import Enum, auto
from typing import Protocol, runtime_checkable

from clawdbot.attached import Fetching
from clawdbot.chat import Adapter, Frame, Message, Post, Pressed, Reply, State
from clawdbot.errors import DeliveryError, Gone, Limited
from clawdbot.testing.ears import Ears as Ears


class Ability(Enum):
    """What not every platform can do; a check that needs more than a harness `can` does not apply to it."""

    PLACES = auto()
    """There is more than one conversation."""
    REFUSAL = auto()
    """It refuses calls when there are too many."""
    CONTROLS = auto()
    """It draws controls that can be pressed."""
    LIMIT = auto()
    """A message has a greatest length."""
    DELETION = auto()
    """A person can remove a message of the bot's."""
    RETURN = auto()
    """A reply can be brought back by its ``ref``, and messages can be changed after others were posted."""
    FILES = auto()
    """People can send files: the harness is one that `SendsFiles`."""


class Harness(Protocol):
    """One adapter with a platform of its own to run against. Places are conversations, counted from 0."""

    @property
    def adapter(self) -> Adapter: ...

    @property
    def can(self) -> frozenset[Ability]: ...

    async def online(self) -> None:
        """Wait until the running adapter would notice what is said."""
        ...

    def say(self, text: str, place: int = 0) -> None:
        """A person says ``text`` to the bot."""
        ...

    def screen(self, place: int = 0) -> list[str]:
        """The texts of the bot's messages that are seen in a place now, the oldest first."""
        ...

    def controls(self, place: int = 0) -> list[str]:
        """The controls below the bot's last message, as the core calls them ("stop")."""
        ...

    def press(self, control: str, place: int = 0) -> None:
        """A person uses a control of the bot's last message."""
        ...

    def refuse(self, seconds: float) -> None:
        """Let the next edit be refused: not before ``seconds``."""
        ...

    def delete(self, place: int = 0) -> None:
        """Remove the bot's last message."""
        ...

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until ``condition`` holds on the platform. Raises TimeoutError."""
        ...


@runtime_checkable
class SendsFiles(Protocol):
    """What a `Harness` is besides that has the ability FILES."""

    def send_file(self, text: str, name: str, data: bytes, place: int = 0) -> None:
        """A person sends the bot a file, with a text."""
        ...


@asynccontextmanager
async def running(harness: Harness) -> AsyncIterator[Ears]:
    """The adapter at work, and what it hands over."""
    ears = Ears()
    task = asyncio.create_task(harness.adapter.run(ears.receive))
    online = asyncio.create_task(harness.online())
    try:
        await asyncio.wait((task, online), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        await online
        yield ears
    finally:
        online.cancel()
        task.cancel()
        await asyncio.wait((task,))


async def a_message_becomes_one_event(harness: Harness) -> None:
    """Text, place and times arrive as they are; a second message is another one in the same conversation."""
    async with running(harness) as ears:
        harness.say("What is a heron?")
        first, reply = await ears.question(0)
        # Not every platform has a second one before the first is answered.
        await reply.send(Frame("A bird.", State.FINAL), "heron")
        harness.say("And an egret?")
        second, _ = await ears.question(1)
        assert (first.text, second.text) == ("What is a heron?", "And an egret?")
        assert first.id != second.id
        assert first.conversation == second.conversation
        assert first.received_at <= second.received_at
        assert len(ears.heard) == 2


async def a_file_comes_along_and_can_be_loaded(harness: Harness) -> None:
    """With its name and size; its content is brought later, by a reply that came back by its ref, too."""
    assert isinstance(harness, SendsFiles)
    async with running(harness) as ears:
        harness.send_file("What is a heron?", "birds.txt", b"A heron is a bird.")
        message, reply = await ears.question()
        (file,) = message.files
        assert (message.text, file.name, file.size) == ("What is a heron?", "birds.txt", 18)
        again = harness.adapter.reply(reply.ref)
        assert isinstance(again, Fetching)
        assert await again.fetch(file, 18) == b"A heron is a bird."


async def a_reply_grows_and_ends_with_the_final_text(harness: Harness) -> None:
    """Every frame takes the place of the one before it, in one message."""
    async with running(harness) as ears:
        post = await _begin(harness, ears, "A heron")
        await harness.until(lambda: harness.screen() == ["A heron"])
        await post.edit(Frame("A heron is", State.STREAMING))
        await harness.until(lambda: harness.screen() == ["A heron is"])
        await post.edit(Frame("A heron is a bird.", State.FINAL))
        await harness.until(lambda: harness.screen() == ["A heron is a bird."])


async def a_repeated_edit_is_success(harness: Harness) -> None:
    """A text that is already there counts as shown."""
    async with running(harness) as ears:
        post = await _begin(harness, ears, "A heron")
        frame = Frame("A heron is a bird.", State.FINAL)
        await post.edit(frame)
        await post.edit(frame)
        await harness.until(lambda: harness.screen() == ["A heron is a bird."])


async def parts_stand_in_their_order(harness: Harness) -> None:
    """A long answer is several messages."""
    async with running(harness) as ears:
        _, reply = await _ask(harness, ears)
        await reply.send(Frame("First part.", State.FINAL, last=False), "part-0")
        await reply.send(Frame("Second part.", State.FINAL), "part-1")
        await harness.until(lambda: harness.screen() == ["First part.", "Second part."])


async def a_reply_comes_back_by_its_ref(harness: Harness) -> None:
    """After a restart the rest of an answer goes where it began."""
    async with running(harness) as ears:
        _, reply = await _ask(harness, ears)
        again = harness.adapter.reply(reply.ref)
        assert again.ref == reply.ref
        await again.send(Frame("A heron is a bird.", State.FINAL), "part-0")
        await harness.until(lambda: harness.screen() == ["A heron is a bird."])


async def a_post_comes_back_by_its_ref(harness: Harness) -> None:
    """After a restart the message that was begun is finished, not a second one posted."""
    async with running(harness) as ears:
        _, reply = await _ask(harness, ears)
        post = await reply.send(Frame("A heron", State.STREAMING), "part-0")
        again = harness.adapter.reply(reply.ref).post(post.ref)
        assert again.ref == post.ref
        await again.edit(Frame("A heron is a bird.", State.FINAL))
        await harness.until(lambda: harness.screen() == ["A heron is a bird."])


async def conversations_never_mix(harness: Harness) -> None:
    """Each answer lands where its question was asked."""
    async with running(harness) as ears:
        harness.say("What is a heron?", place=0)
        first, first_reply = await ears.question(0)
        harness.say("What is an egret?", place=1)
        second, second_reply = await ears.question(1)
        assert first.conversation.key != second.conversation.key
        await second_reply.send(Frame("Also a bird.", State.FINAL), "egret")
        await first_reply.send(Frame("A bird.", State.FINAL), "heron")
        await harness.until(lambda: (harness.screen(0), harness.screen(1)) == (["A bird."], ["Also a bird."]))


async def a_refusal_names_the_seconds(harness: Harness) -> None:
    """The platform's own wait comes through as it is, at once, and what is shown stays."""
    async with running(harness) as ears:
        post = await _begin(harness, ears, "A heron")
        harness.refuse(7.0)
        refusal = await _failure(post.edit(Frame("A heron is", State.STREAMING)))
        assert isinstance(refusal, Limited), refusal
        assert refusal.retry_after == 7.0
        assert harness.screen() == ["A heron"]


async def stop_is_there_while_there_is_something_to_stop(harness: Harness) -> None:
    """The control appears with the first text, says which message it belongs to, and changes with the last."""
    async with running(harness) as ears:
        post = await _begin(harness, ears, "A heron")
        await harness.until(lambda: harness.controls() == ["stop"])
        harness.press("stop")
        await ears.count(2)
        pressed, _ = ears.heard[1]
        assert isinstance(pressed, Pressed), pressed
        assert (pressed.control, pressed.post) == ("stop", post.ref)
        await post.edit(Frame("A heron", State.STOPPED))
        await harness.until(lambda: harness.controls() == ["regenerate"])


async def continue_is_there_when_an_answer_was_cut_short(harness: Harness) -> None:
    """By a fault or a restart; it says which message it belongs to, and changes when it is complete."""
    async with running(harness) as ears:
        post = await _begin(harness, ears, "A heron")
        await post.edit(Frame("A heron\n\n*(The answer was interrupted.)*", State.INTERRUPTED))
        await harness.until(lambda: harness.controls() == ["continue"])
        harness.press("continue")
        await ears.count(2)
        pressed, _ = ears.heard[1]
        assert isinstance(pressed, Pressed), pressed
        assert (pressed.control, pressed.post) == ("continue", post.ref)
        await post.edit(Frame("A heron is a bird.", State.FINAL))
        await harness.until(lambda: harness.controls() == ["regenerate"])


async def regenerate_is_there_when_an_answer_is_over(harness: Harness) -> None:
    """It says which message it belongs to, and stands below no notice and no part but the last."""
    async with running(harness) as ears:
        post = await _begin(harness, ears, "A heron")
        await post.edit(Frame("A heron is a bird.", State.FINAL))
        await harness.until(lambda: harness.controls() == ["regenerate"])
        harness.press("regenerate")
        await ears.count(2)
        pressed, _ = ears.heard[1]
        assert isinstance(pressed, Pressed), pressed
        assert (pressed.control, pressed.post) == ("regenerate", post.ref)
        await post.edit(Frame("A heron is a bird.", State.FINAL, last=False))
        await harness.until(lambda: harness.controls() == [])
        await post.edit(Frame("You asked too much.", State.NOTICE))
        await harness.until(lambda: harness.screen() == ["You asked too much."])
        assert harness.controls() == []


async def a_text_that_does_not_fit_is_not_cut(harness: Harness) -> None:
    """`Limits.fits` and the platform agree, and too much is an error, never less text."""
    async with running(harness) as ears:
        _, reply = await _ask(harness, ears)
        most = "x" * reply.limits.size
        while not reply.limits.fits(most):
            most = most[:-1]
        while reply.limits.fits(most + "x"):
            most += "x"
        assert await _failure(reply.send(Frame(most + "x", State.FINAL), "long")) is not None
        assert harness.screen() == []
        await reply.send(Frame(most, State.FINAL), "most")
        await harness.until(lambda: harness.screen() == [most])


async def a_removed_message_is_gone(harness: Harness) -> None:
    """An edit of a message that somebody deleted says so."""
    async with running(harness) as ears:
        post = await _begin(harness, ears, "A heron")
        harness.delete()
        failure = await _failure(post.edit(Frame("A heron is a bird.", State.FINAL)))
        assert isinstance(failure, Gone), failure


async def run_ends_when_cancelled_and_runs_again(harness: Harness) -> None:
    """A supervisor can start the adapter anew; nothing is heard twice."""
    async with running(harness) as ears:
        harness.say("What is a heron?")
        await ears.question()
    async with running(harness) as ears:
        harness.say("And an egret?")
        message, _ = await ears.question()
        assert message.text == "And an egret?"


Check = Callable[[Harness], Awaitable[None]]

CHECKS: dict[Check, frozenset[Ability]] = {
    a_message_becomes_one_event: frozenset(),
    a_file_comes_along_and_can_be_loaded: frozenset({Ability.FILES, Ability.RETURN}),
    a_reply_grows_and_ends_with_the_final_text: frozenset(),
    a_repeated_edit_is_success: frozenset(),
    parts_stand_in_their_order: frozenset(),
    a_reply_comes_back_by_its_ref: frozenset({Ability.RETURN}),
    a_post_comes_back_by_its_ref: frozenset({Ability.RETURN}),
    conversations_never_mix: frozenset({Ability.PLACES}),
    a_refusal_names_the_seconds: frozenset({Ability.REFUSAL}),
    stop_is_there_while_there_is_something_to_stop: frozenset({Ability.CONTROLS}),
    continue_is_there_when_an_answer_was_cut_short: frozenset({Ability.CONTROLS}),
    regenerate_is_there_when_an_answer_is_over: frozenset({Ability.CONTROLS}),
    a_text_that_does_not_fit_is_not_cut: frozenset({Ability.LIMIT}),
    a_removed_message_is_gone: frozenset({Ability.DELETION}),
    run_ends_when_cancelled_and_runs_again: frozenset(),
}
"""Every check with the abilities that a platform needs for it."""


async def _ask(harness: Harness, ears: Ears) -> tuple[Message, Reply]:
    harness.say("What is a heron?")
    return await ears.question()


async def _begin(harness: Harness, ears: Ears, text: str) -> Post:
    _, reply = await _ask(harness, ears)
    return await reply.send(Frame(text, State.STREAMING), "part-0")


async def _failure(call: Awaitable[object]) -> DeliveryError | None:
    try:
        await call
    except DeliveryError as error:
        return error
    return None
