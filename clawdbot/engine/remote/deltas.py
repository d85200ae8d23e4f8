"""What a server's stream says, one event after the other, in the bot's own terms."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clawdbot.engine.protocol import Finish
from clawdbot.engine.remote.faults import Fault
from clawdbot.prompts.thoughts import OPENING, closing


@dataclass(frozen=True, slots=True)
class Spent:
    """What an answer took, by the server's account; None is what it was not told to say. Times are seconds."""

    prompt_tokens: int
    output_tokens: int
    cached_tokens: int | None
    queue: float | None
    """From its waiting queue to the first step."""
    prefill: float | None
    """From there to the first token."""


@dataclass(frozen=True, slots=True)
class Delta:
    """What came since the last one. ``spent`` comes last, after everything else."""

    text: str = ""
    tokens: tuple[int, ...] = ()
    finish: Finish | None = None
    spent: Spent | None = None


class Reader:
    """Reads the events of one answer, be it a completion's or a chat's.

    A server that was told how its model marks thoughts (``--reasoning-parser``) sends them in a chat apart and without
    their marks. These come back here, so that a thought is hidden as it is everywhere else.
    """

    def __init__(self, opening: str = "") -> None:
        """``opening``: the tag with which a chat's template opens a thought for every answer; "" for most."""
        self._opening = opening
        self._closing = ""
        """What is missing behind the thought that comes just now."""

    def read(self, event: Any) -> Delta:
        """Raises `Fault`."""
        try:
            return self._delta(event["choices"][0]) if event["choices"] else _last(event)
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise Fault(f"it does not speak vLLM's form of the protocol ({error!r})") from error

    def _delta(self, choice: Mapping[str, Any]) -> Delta:
        ids, reason = choice.get("token_ids"), choice.get("finish_reason")
        text = self._of_chat(choice["delta"]) if "delta" in choice else choice["text"]
        if ids is None and not text and reason is None:
            return Delta()  # a chat's first event says who speaks, before there is any token
        if ids is None:
            raise Fault("it does not return token ids: it has to be a vLLM server, of a version that can", lasting=True)
        if reason not in (None, "stop", "length"):
            raise Fault(f"it gave the answer up ({reason})")
        return Delta(text, tuple(ids), reason)

    def _of_chat(self, delta: Mapping[str, Any]) -> str:
        said: str = delta.get("content") or ""
        text: str = delta.get("reasoning") or delta.get("reasoning_content") or ""
        # A token without either is a mark that the server took away: of a thought with nothing in it that is all.
        taken = self._opening and delta.get("content") is None and "role" not in delta
        if (text or taken) and not self._closing:
            self._closing = closing(self._opening or OPENING)
            text = text if self._opening else OPENING + text
            self._opening = ""
        if said and self._closing:
            text, self._closing = text + self._closing, ""
        return text + said


def _last(event: Mapping[str, Any]) -> Delta:
    usage = event.get("usage")
    if usage is None:
        return Delta()
    details, metrics = usage.get("prompt_tokens_details") or {}, event.get("metrics") or {}
    return Delta(
        spent=Spent(
            int(usage["prompt_tokens"]),
            int(usage["completion_tokens"]),
            details.get("cached_tokens"),
            _seconds(metrics.get("queue_time_ms")),
            _seconds(metrics.get("time_to_first_token_ms")),
        )
    )


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
