"""What is sent to a server for one answer: a prompt of token ids, or turns of text with pictures."""

import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from PIL.Image import Image

from clawdbot.engine.protocol import UNOPENED, Opening, Request, Said, Sampling

QUALITY = 95
"""Of JPEG, with colours as fine as brightness: small print stays legible, in 20 ms where PNG takes 50 to 400."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request for an answer, ready to be posted."""

    content: bytes
    """JSON, made here: the library would look at every token of a prompt, which takes 120 ms for 12,000."""
    conversation: str = ""
    chat: bool = False
    """Whether it goes to ``/chat/completions``; otherwise to ``/completions``."""
    opening: Opening = UNOPENED
    """What the server's template begins the answer with, where it is a chat."""


def written(model: str, request: Request, most: int) -> Call:
    """Asks ``model`` for an answer of ``most`` tokens at most to a prompt as it is, without a look at pictures."""
    content = {"prompt": request.prompt, "max_tokens": most, **_choosing(model, request.sampling, most)}
    return Call(_bytes(content), request.conversation)


def shown(model: str, request: Request, turns: Sequence[Said], most: int, opening: Opening = UNOPENED) -> Call:
    """Asks with the request's pictures: they belong to the last question of ``turns``, before its text.

    The server makes the prompt, since it alone knows how many tokens a picture has. Takes tens of milliseconds a
    picture.
    """
    messages: list[dict[str, Any]] = [{"role": turn.role, "content": turn.text} for turn in turns]
    asked = max(number for number, turn in enumerate(turns) if turn.role == "user")
    pictures = [{"type": "image_url", "image_url": {"url": data_url(one)}} for one in request.images]
    messages[asked]["content"] = [*pictures, {"type": "text", "text": turns[asked].text}]
    begun = turns[-1].role == "assistant"
    content = {
        "messages": messages,
        "max_completion_tokens": most,
        "add_generation_prompt": not begun,
        "continue_final_message": begun,
        **_choosing(model, request.sampling, most),
    }
    return Call(_bytes(content), request.conversation, chat=True, opening=UNOPENED if begun else opening)


def data_url(picture: Image) -> str:
    """A picture in colours, as the protocol takes it without a server to load it from."""
    out = BytesIO()
    picture.save(out, "JPEG", quality=QUALITY, subsampling=0)
    return f"data:image/jpeg;base64,{b64encode(out.getbuffer()).decode()}"


def _choosing(model: str, sampling: Sampling, most: int) -> dict[str, Any]:
    return {
        "model": model,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "min_tokens": min(sampling.min_tokens, most),
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_token_ids": True,
    }


def _bytes(content: dict[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode()
