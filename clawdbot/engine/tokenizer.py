"""The model's own tokenizer and chat template, on a thread of its own."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from jinja2 import TemplateError

from clawdbot.engine.protocol import Role
from clawdbot.errors import EngineUnavailable

T = TypeVar("T")
R = TypeVar("R")

# Stands for the content of a turn while the template is rendered. Private-use characters: no template tests for them.
_OPEN, _CLOSE = "\ue000", "\ue001"


class ChatTokenizer:
    """A `Tokenizer` over a Hugging Face tokenizer.

    Template and users' text are tokenized apart: a template's text may hold special tokens, a user's never does. The
    switch between the two is state of the tokenizer object (four threads sharing one gave wrong ids in silence), so one
    thread owns it.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tokenizer")
        self._ids_of_piece: dict[str, list[int]] = {}
        # Some templates raise when they meet a system role, others drop it in silence; found out once.
        self._knows_system = self._renders_system()

    def close(self) -> None:
        """Let the thread end."""
        self._thread.shutdown(wait=False)

    async def encode(self, text: str) -> list[int]:
        """See `Tokenizer.encode`."""
        return await self._run(self._encode, text)

    async def pieces(self, roles: Sequence[Role]) -> list[list[int]]:
        """See `Tokenizer.pieces`."""
        return await self._run(self._pieces, roles)

    async def _run(self, work: Callable[[T], R], value: T) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, value)

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
        return ids

    def _pieces(self, roles: Sequence[Role]) -> list[list[int]]:
        if roles and roles[0] == "system" and not self._knows_system:
            # The system prompt opens the first user turn instead: a piece between the two joins them.
            before, *rest = self._texts(roles[1:])
            return [self._ids(text) for text in (before, "\n\n", *rest)]
        return [self._ids(text) for text in self._texts(roles)]

    def _texts(self, roles: Sequence[Role]) -> list[str]:
        """The template's own text before, between and after the contents."""
        slots = [f"{_OPEN}{number}{_CLOSE}" for number in range(len(roles))]
        turns = [{"role": role, "content": slot} for role, slot in zip(roles, slots, strict=True)]
        rest = self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        texts = []
        for slot in slots:
            before, found, rest = rest.partition(slot)
            if not found:
                raise EngineUnavailable(
                    "The model's chat template leaves out a turn of the conversation.",
                    "Choose an instruction-tuned model whose template takes user and assistant turns.",
                )
            texts.append(before)
        return [*texts, rest]

    def _ids(self, text: str) -> list[int]:
        if text not in self._ids_of_piece:
            self._ids_of_piece[text] = self._tokenizer.encode(text, add_special_tokens=False)
        return self._ids_of_piece[text]

    def _renders_system(self) -> bool:
        if self._tokenizer.chat_template is None:
            raise EngineUnavailable(
                "The model has no chat template, so it does not know turns of a conversation.",
                'Choose an instruction-tuned model: their names often end in "Instruct" or "it".',
            )
        try:
            self._texts(["system", "user"])
        except (TemplateError, EngineUnavailable):
            return False
        return True
