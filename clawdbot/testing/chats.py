"""Chats as a simulated server takes them: turns of text, with pictures in them."""

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from PIL import Image

from clawdbot.engine.protocol import Said, Tokenizer


@dataclass(frozen=True, slots=True)
class Chat:
    """The messages of one request."""

    turns: tuple[Said, ...]
    images: tuple[Image.Image, ...]
    """All belong to the last question."""

    async def prompt(self, tokenizer: Tokenizer) -> list[int]:
        """What the template makes of it; an answer at its end stays open."""
        begun = self.turns[-1].text if self.turns[-1].role == "assistant" else ""
        turns = self.turns[:-1] if begun else self.turns
        pieces = await tokenizer.pieces([turn.role for turn in turns], len(self.images))
        tokens = list(pieces[0])
        for turn, piece in zip(turns, pieces[1:], strict=True):
            tokens += [*await tokenizer.encode(turn.text), *piece]
        return tokens + await tokenizer.encode(begun)


def chat_of(messages: Sequence[Mapping[str, Any]]) -> Chat:
    """The messages as they come over the wire; pictures are ``data:`` addresses."""
    turns, images = [], []
    for message in messages:
        content = message["content"]
        parts: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        turns.append(Said(message["role"], "".join(part["text"] for part in parts if part["type"] == "text")))
        images += [_picture(part["image_url"]["url"]) for part in parts if part["type"] == "image_url"]
    return Chat(tuple(turns), tuple(images))


def _picture(url: str) -> Image.Image:
    head, _, data = url.partition(",")
    assert head == "data:image/jpeg;base64", head
    picture = Image.open(BytesIO(b64decode(data, validate=True)))
    picture.load()
    return picture
