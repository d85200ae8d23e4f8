"""The chat on the bot's own page, over HTTP."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from clawdbot.chat import File, Frame, Message, State
from clawdbot.clock import SystemClock
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.contract import Ears, running
from clawdbot_web.board import BEAT, KEPT, Board, Note

from .web_harness import WebHarness, on_a_page


@asynccontextmanager
async def page() -> AsyncIterator[tuple[WebHarness, Ears]]:
    async with on_a_page() as harness, running(harness) as ears:
        yield harness, ears


def note(number: int, text: str = "Hello") -> Note:
    return Note(f"note-{number}", "question", text)


async def test_whoever_writes_is_the_owner_in_private() -> None:
    """The web server let them in; the core has to make no exception for a platform of its own."""
    async with page() as (harness, ears):
        await harness.post("/web/say", ref="question-1", text=" What is a heron? ")
        message, reply = await ears.question()

    assert (message.author.owner, message.conversation.private) == (True, True)
    assert (message.id, message.text, reply.ref) == ("question-1", "What is a heron?", "question-1")


async def test_a_question_that_is_sent_again_has_the_same_id() -> None:
    """Its answer got lost on the way; the core answers the question once."""
    async with page() as (harness, ears):
        for _ in range(2):
            await harness.post("/web/say", ref="question-1", text="What is a heron?")
        await ears.count(2)

    assert {event.id for event, _ in ears.heard if isinstance(event, Message)} == {"question-1"}


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"ref": "question-1"},
        {"ref": "question-1", "text": " "},
        {"ref": "question-1", "text": 7},
        {"ref": "short", "text": "Hello"},
        {"ref": "a/../../b", "text": "Hello"},
        {"ref": ["question-1"], "text": "Hello"},
    ],
)
async def test_what_is_no_question_is_refused(told: dict[str, object]) -> None:
    async with page() as (harness, ears):
        assert await harness.post("/web/say", **told) == 400
        assert ears.heard == []


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff"])
async def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    async with page() as (harness, _), harness.http.post(f"{harness.address}/web/say", data=body) as answer:
        assert answer.status == 400


async def test_nothing_is_taken_while_nobody_listens() -> None:
    async with on_a_page() as harness:
        assert await harness.post("/web/say", ref="question-1", text="Hello") == 503
        assert harness.notes == {}


async def test_a_control_that_is_not_there_does_nothing() -> None:
    async with page() as (harness, ears):
        await harness.post("/web/say", ref="question-1", text="Hello")
        _, reply = await ears.question()
        await reply.send(Frame("Done.", State.FINAL), "part-0")

        assert await harness.post("/web/press", ref="part-0", control="stop") == 409
        assert await harness.post("/web/press", ref="nobody's", control="stop") == 409
        assert len(ears.heard) == 1


async def test_a_picture_is_shown_and_any_other_file_is_only_handed_out() -> None:
    """A file that a browser opens in place could be a page with scripts, of the bot's own origin."""
    async with page() as (harness, ears):
        await harness.post("/web/say", ref="question-1", text="Hello")
        _, reply = await ears.question()
        files = (File("chart.png", b"png"), File("answer.html", b"<script>"))
        await reply.send(Frame("See", State.FINAL, files), "part-0")
        got = []
        for number in range(3):
            async with harness.http.get(f"{harness.address}/web/files/part-0/{number}") as answer:
                got.append((answer.status, answer.content_type, answer.headers.get("Content-Disposition")))

    assert got == [
        (200, "image/png", None),
        (200, "application/octet-stream", "attachment"),
        (404, "text/plain", None),
    ]


async def test_whoever_comes_later_sees_what_is_there() -> None:
    async with page() as (harness, ears):
        await harness.post("/web/say", ref="question-1", text="Hello")
        _, reply = await ears.question()
        await reply.send(Frame("A bird", State.STREAMING), "part-0")
        other = WebHarness(harness.address, harness.http, harness.web)
        following = asyncio.create_task(other.follow())
        await other.until(lambda: other.screen() == ["A bird"])
        following.cancel()

    assert [told["state"] for told in other.notes.values()] == ["asked", "streaming"]


async def test_a_slow_reader_misses_states_but_no_note() -> None:
    board = Board(SystemClock())
    following = board.follow()
    board.put(note(1, "O"))
    assert await anext(following) == [note(1, "O")]
    for text in ("On", "One"):
        board.put(note(1, text))
    board.put(note(2))

    assert await anext(following) == [note(1, "One"), note(2)]


async def test_a_reader_is_told_when_nothing_happens() -> None:
    """A connection that ended is noticed by a write alone."""
    clock = ManualClock()
    following = Board(clock).follow()
    await anext(following)
    waiting = asyncio.ensure_future(anext(following))
    await clock.advance(BEAT)

    assert await waiting == []


async def test_the_oldest_notes_leave_the_board() -> None:
    board = Board(SystemClock())
    for number in range(KEPT + 1):
        board.put(note(number))

    assert (len(board.notes), board.find("note-0")) == (KEPT, None)


def test_a_footnote_stands_beside_the_text() -> None:
    """The page draws it small; it is no part of the answer."""
    frame = Frame("A heron.", State.FINAL, footnote="first word 0.24 s")
    told = Note("1", "0", frame.text, frame).to_map()
    assert (told["text"], told["footnote"]) == ("A heron.", "first word 0.24 s")
