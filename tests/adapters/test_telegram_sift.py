"""An update that the library cannot read costs none of those beside it, and does not come again."""

import json
import logging

import pytest
from telegram.error import NetworkError

from clawdbot_telegram.sift import sifted

GOOD = {"update_id": 1, "message": {"message_id": 5, "date": 1_700_000_000, "chat": {"id": 7, "type": "private"}}}
PECULIAR = {"update_id": 2, "message": "text, and private"}


def answer(*updates: object) -> bytes:
    return json.dumps({"ok": True, "result": updates}).encode()


def kept(body: bytes) -> object:
    return json.loads(sifted(body))["result"]


@pytest.mark.parametrize("updates", [(), (GOOD,), (GOOD, {"update_id": 3, "of_the_future": {"a": 1}})])
def test_what_can_be_read_stays_as_it_is(updates: tuple[object, ...]) -> None:
    assert sifted(answer(*updates)) == answer(*updates)


def test_an_unreadable_one_leaves_its_number_to_be_confirmed() -> None:
    assert kept(answer(PECULIAR, GOOD)) == [{"update_id": 2}, GOOD]


def test_what_people_wrote_is_not_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    sifted(answer(PECULIAR))
    assert [(record.levelno, "update 2 (message)" in record.message) for record in caplog.records] == [
        (logging.ERROR, True)
    ]
    assert "private" not in caplog.text


@pytest.mark.parametrize("thing", [None, 5, {}, {"update_id": "1"}, {"update_id": True}, []])
def test_a_thing_without_a_number_is_left_out(thing: object) -> None:
    assert kept(answer(thing, GOOD)) == [GOOD]


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff", b"<html>", b"[]", b"null", b'{"ok": true}', b'{"ok": true, "result": {}}', answer(None)],
)
def test_an_answer_without_updates_is_a_failed_poll(body: bytes) -> None:
    """The library would ask again at once, for ever, over what it takes for a fault of its own."""
    with pytest.raises(NetworkError):
        sifted(body)
