"""The model's own tokenizer and chat template, on a thread of its own."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from jinja2 import TemplateError

from clawdbot.engine.disarming import Disarming, steering
from clawdbot.engine.fingerprint import fingerprint
from clawdbot.engine.protocol import UNOPENED, Opening, Role, Said
from clawdbot.errors import EngineDead, EngineUnavailable
from clawdbot.prompts.thoughts import TAGS, mark, opened_at_end

T = TypeVar("T")
R = TypeVar("R")

# Stands for the content of a turn while the template is rendered. Private-use characters: no template tests for them.
_OPEN, _CLOSE = "\ue000", "\ue001"
_SLOT = re.compile(rf"{_OPEN}(\d+){_CLOSE}")
_THOUGHTS = (*TAGS, *(tag.replace("<", "</") for tag in TAGS))
_CHOOSE = 'Choose an instruction-tuned model: their names often end in "Instruct" or "it".'


class ChatTokenizer:
    """A `Tokenizer` over a Hugging Face tokenizer.

    Template and users' text are tokenized apart: a template's text may hold special tokens, a user's never does. The
    switch between the two is state of the tokenizer object (four threads sharing one gave wrong ids in silence), so one
    thread owns it.
    """

    def __init__(self, tokenizer: Any) -> None:
        """Raises `EngineUnavailable` when its chat template cannot hold a conversation."""
        if tokenizer.chat_template is None:
            raise EngineUnavailable("The model has no chat template, so it does not know turns.", _CHOOSE)
        self._tokenizer = tokenizer
        self._fingerprint = fingerprint(tokenizer)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tokenizer")
        self._unmarked = _unmarked(tokenizer)
        self._inside = _inside(self._unmarked)
        self._disarming = Disarming(tokenizer)
        self._ids_of_piece: dict[str, list[int]] = {}
        self._in_parts = False
        """Whether every content is a list of parts: some templates of models that see pictures know no other."""
        self._check_template()
        self._knows_system = self._renders_system()
        self._shows_images = self._renders_images()
        tag = opened_at_end(self._texts(["user"])[-1])
        self._opening = self._opens(tag) if tag else UNOPENED

    @property
    def fingerprint(self) -> str:
        """See `Tokenizer.fingerprint`."""
        return self._fingerprint

    @property
    def opening(self) -> Opening:
        """See `Tokenizer.opening`."""
        return self._opening

    @property
    def shows_images(self) -> bool:
        """Whether the template marks the place of a picture, and changes nothing else for it."""
        return self._shows_images

    def close(self) -> None:
        """Let the thread end."""
        self._thread.shutdown(wait=False)

    async def encode(self, text: str) -> list[int]:
        """See `Tokenizer.encode`."""
        return await self._run(self._encode, text)

    async def pieces(self, roles: Sequence[Role], images: int = 0) -> list[list[int]]:
        """See `Tokenizer.pieces`."""
        return await self._run(partial(self._pieces, images=images if self._shows_images else 0), roles)

    async def disarmed(self, turns: Sequence[Said]) -> list[Said]:
        """See `Tokenizer.disarmed`."""
        return await self._run(self._disarmed, turns)

    async def _run(self, work: Callable[[T], R], value: T) -> R:
        """Raises `EngineDead` after `close`: a question may still hold the engine that has just died."""
        try:
            done = self._thread.submit(work, value)
        except RuntimeError as error:
            raise EngineDead("The engine is closed, and its tokenizer with it.") from error
        return await asyncio.wrap_future(done)

    def _encode(self, text: str) -> list[int]:
        """Each `_unmarked` token is taken apart; letter by letter where what is normalised becomes one all the same."""
        ids = self._plain(text)
        for parts in (self._inside.split(text), text):
            if self._unmarked.keys().isdisjoint(ids):
                break
            ids = [token for part in parts for token in self._plain(part)]
        return ids

    def _plain(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
        return ids

    def _pieces(self, roles: Sequence[Role], images: int) -> list[list[int]]:
        if roles and roles[0] == "system" and not self._knows_system:
            # The system prompt opens the first user turn instead: a piece between the two joins them.
            before, *rest = self._texts(roles[1:], images)
            texts = [before, "\n\n", *rest]
        else:
            texts = self._texts(roles, images)
        *earlier, last = texts
        return [self._ids(text) for text in (*earlier, last.removesuffix(self._opening.text))]

    def _disarmed(self, turns: Sequence[Said]) -> list[Said]:
        """The marks of a thought stay in answers: templates take thoughts out by them."""
        harmless = [
            Said(turn.role, self._disarming.disarmed(turn.text, _THOUGHTS if turn.role == "assistant" else ()))
            for turn in turns
        ]
        if harmless[0].role == "system" and not self._knows_system:
            system, first, *rest = harmless
            return [Said(first.role, f"{system.text}\n\n{first.text}"), *rest]
        return harmless

    def _texts(self, roles: Sequence[Role], images: int = 0) -> list[str]:
        """The template's own text before, between and after the contents."""
        contents = [self._content(f"{_OPEN}{number}{_CLOSE}", 0) for number in range(len(roles) - 1)]
        contents.append(self._content(f"{_OPEN}{len(roles) - 1}{_CLOSE}", images))
        turns = [{"role": role, "content": content} for role, content in zip(roles, contents, strict=True)]
        try:
            parts = _SLOT.split(self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))
        except (TemplateError, TypeError) as error:
            raise EngineUnavailable(f"The model's chat template refuses a conversation: {error}.", _CHOOSE) from error
        texts, numbers = parts[::2], parts[1::2]
        if numbers != [str(number) for number in range(len(roles))]:
            raise EngineUnavailable("The model's chat template does not show each turn once and in order.", _CHOOSE)
        return texts

    def _content(self, slot: str, images: int) -> str | list[dict[str, str]]:
        if not (images or self._in_parts):
            return slot
        return [*({"type": "image"} for _ in range(images)), {"type": "text", "text": slot}]

    def _check_template(self) -> None:
        """Find the form in which the template takes contents. Raises `EngineUnavailable` when it takes none."""
        conversation: list[Role] = ["user", "assistant", "user"]
        try:
            self._texts(conversation)
        except EngineUnavailable as fault:
            self._in_parts = True
            try:
                self._texts(conversation)
            except EngineUnavailable:
                raise fault from None

    def _ids(self, text: str) -> list[int]:
        if text not in self._ids_of_piece:
            self._ids_of_piece[text] = self._tokenizer.encode(text, add_special_tokens=False)
        return self._ids_of_piece[text]

    def _opens(self, tag: str) -> Opening:
        closing = self._ids(mark(tag))
        return Opening(tag, tuple(self._ids(tag)), closing[0] if len(closing) == 1 else None)

    def _renders_images(self) -> bool:
        try:
            (_, *plain), (_, *shown) = self._texts(["user"]), self._texts(["user"], images=1)
        except EngineUnavailable:
            return False
        return shown == plain

    def _renders_system(self) -> bool:
        """Some templates raise when they meet a system role, others drop it in silence."""
        try:
            self._texts(["system", "user"])
        except EngineUnavailable:
            return False
        return True


def _unmarked(tokenizer: Any) -> dict[int, str]:
    """The tokens that steer the model and that its tokenizer does not call special, so it reads them in any text.

    Such as the marks of a turn of DeepSeek's models, of a tool's answer of Qwen's.
    """
    return {number: one.content for number, one in steering(tokenizer).items() if not one.special}


def _inside(tokens: Mapping[int, str]) -> re.Pattern[str]:
    """Finds the places behind the first sign of each of ``tokens``; nothing where there are none."""
    places = [f"(?<={re.escape(text[0])})(?={re.escape(text[1:])})" for text in tokens.values()]
    return re.compile("|".join(places) or r"(?!)")
