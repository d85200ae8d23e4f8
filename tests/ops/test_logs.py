"""What is written down, and how."""

import gc
import io
import json
import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pytest

from clawdbot.errors import StoreError
from clawdbot.latency.observed import Failed
from clawdbot.latency.timing import Timing
from clawdbot.ops.answer_log import chain, log_answer
from clawdbot.ops.logs import CHATTY, logged, set_level
from clawdbot.ops.redaction import Redactor

SECRET = "recognisable-secret"
TIMING = Timing(
    platform="telegram",
    conversation="telegram:7",
    at=1_000.0,
    platform_delay=None,
    admitted=0.001,
    queued=0.002,
    scheduled=0.004,
    first_token=0.104,
    showable=0.104,
    first_visible=0.154,
    last_token=1.104,
    complete=1.204,
    prompt_tokens=200,
    cached_tokens=150,
    output_tokens=51,
    state="final",
)


@contextmanager
def written(form: Literal["text", "json"] = "text") -> Iterator[io.StringIO]:
    stream = io.StringIO()
    with logged("info", form, Redactor([SECRET]), stream):
        yield stream


def library() -> logging.Logger:
    """A logger of somebody else's."""
    return logging.getLogger("somebody.elses")


def test_a_line_of_text_is_for_people() -> None:
    with written() as stream:
        library().info("%d things happened", 3, extra={"where": "here and there", "share": 0.25})

    when, line = stream.getvalue()[:20], stream.getvalue()[20:]
    assert line == 'INFO somebody.elses: 3 things happened where="here and there" share=0.25\n'
    assert when[4] == when[7] == "-"


def test_a_line_of_json_is_for_programs() -> None:
    with written("json") as stream:
        library().warning("it happened", extra={"where": "here"})

    assert list(line := json.loads(stream.getvalue()))[:4] == ["timestamp", "level", "logger", "event"]
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "it happened", "level": "warning", "logger": "somebody.elses", "where": "here"}


def test_what_vllm_writes_into_every_record_is_left_out() -> None:
    """It says the same in each line: that this is the bot's own process."""
    with written() as stream:
        library().info("it happened", extra={"vllm_process_name": "MainProcess"})

    assert stream.getvalue().endswith("INFO somebody.elses: it happened\n")


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_secret_is_in_a_message_a_value_or_a_traceback(form: Literal["text", "json"]) -> None:
    def call() -> None:
        raise ValueError(f"https://example.org/bot{SECRET}/getMe")

    with written(form) as stream:
        try:
            call()
        except ValueError:
            library().exception("a call failed: %s", SECRET, extra={"token": SECRET})

    assert "ValueError: https://example.org/bot[secret]/getMe" in stream.getvalue()
    assert SECRET not in stream.getvalue()


def test_a_line_that_cannot_be_written_tells_nothing_of_its_parts() -> None:
    """The standard library would print them to standard error."""
    with written() as stream:
        ours = logging.getLogger().handlers[-1]
        ours.handle(logging.LogRecord("somebody.elses", logging.INFO, __file__, 1, "%d", (SECRET,), None))

    assert "a line of somebody.elses (test_logs.py:1) cannot be written: TypeError" in stream.getvalue()
    assert SECRET not in stream.getvalue()


def test_warnings_and_errors_of_threads_and_destructors_are_written_too() -> None:
    class Broken:
        def __del__(self) -> None:
            raise OSError(SECRET)

    def breaks() -> None:
        raise ZeroDivisionError(SECRET)

    with written() as stream, warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=True)
        warnings.warn(f"an old way: {SECRET}", stacklevel=1)
        thread = threading.Thread(target=breaks)
        thread.start()
        thread.join()
        Broken()
        gc.collect()

    said = stream.getvalue()
    assert all(words in said for words in ("an old way", "ZeroDivisionError: [secret]", "OSError: [secret]"))
    assert SECRET not in said


def test_an_error_that_nobody_foresaw_is_written_and_ends_the_process() -> None:
    with pytest.raises(SystemExit) as left, written() as stream:
        raise LookupError(SECRET)

    assert left.value.code == 1
    assert "LookupError: [secret]" in stream.getvalue()


def test_an_error_that_is_a_sentence_goes_on_as_it_is() -> None:
    with pytest.raises(StoreError), written() as stream:
        raise StoreError("The disk is full.")
    with pytest.raises(ExceptionGroup), written() as stream:
        raise ExceptionGroup("two", [StoreError("The disk is full.")])

    assert stream.getvalue() == ""


def test_after_the_block_all_is_as_it_was() -> None:
    root = logging.getLogger()
    before = (root.level, list(root.handlers), [logging.getLogger(name).level for name in CHATTY], sys.unraisablehook)

    with written():
        assert root.handlers != before[1]

    assert before == (
        root.level,
        list(root.handlers),
        [logging.getLogger(name).level for name in CHATTY],
        sys.unraisablehook,
    )


def test_the_level_can_change_while_the_bot_runs() -> None:
    with written() as stream:
        library().debug("before")
        set_level("debug")
        library().debug("after")

    assert "after" in stream.getvalue()
    assert "before" not in stream.getvalue()


# One line an answer


def test_an_answer_is_one_line_with_its_whole_chain() -> None:
    with written("json") as stream:
        log_answer(TIMING)
        log_answer(Failed("telegram"))

    (line,) = map(json.loads, stream.getvalue().splitlines())
    assert line["event"] == "answer"
    assert {name: line[name] for name in ("platform", "state", "cached_share", "tokens_per_second")} == {
        "platform": "telegram",
        "state": "final",
        "cached_share": 0.75,
        "tokens_per_second": 50.0,
    }
    assert line["prefill_ms"] == pytest.approx(2.0, abs=0.01)


def test_the_stages_of_a_line_add_up() -> None:
    found = chain(TIMING)
    parts = [value for name, value in found.items() if name.endswith("_ms") and name != "total_ms"]

    assert all(isinstance(part, float) for part in parts)
    assert sum(map(float, map(str, parts))) == pytest.approx(float(str(found["total_ms"])), abs=0.01)
