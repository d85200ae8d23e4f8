"""How pictures reach vLLM, which is a stand-in here: it keeps what it is given, and refuses as vLLM does."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from clawdbot.engine.protocol import Request, Sampling, exhaust
from clawdbot.engine.vllm import VllmEngine
from clawdbot.errors import GenerationFailed, PromptTooLong
from clawdbot.testing.engine import INFO

# `VllmEngine.generate` makes vLLM's own parameters.
pytestmark = pytest.mark.engine

PICTURE = Image.new("RGB", (4, 3))
TOO_LONG = (
    "The decoder prompt (length 9000) is longer than the maximum model length of 8192. Make sure that "
    "`max_model_len` is no smaller than the number of text tokens plus multimodal tokens."
)


class Llm:
    """Takes prompts as vLLM does, and makes ten tokens of every picture."""

    def __init__(self, refusal: str = "") -> None:
        self.prompts: list[dict[str, Any]] = []
        self._refusal = refusal

    async def generate(self, prompt: dict[str, Any], params: object, number: str) -> AsyncIterator[SimpleNamespace]:
        if self._refusal:
            from vllm.exceptions import VLLMValidationError

            raise VLLMValidationError(self._refusal)
        self.prompts.append(prompt)
        images = prompt.get("multi_modal_data", {}).get("image", [])
        part = SimpleNamespace(text="A bird.", token_ids=[7, 2], finish_reason="stop")
        times = SimpleNamespace(queued_ts=0.0, scheduled_ts=0.0, first_token_ts=0.0, last_token_ts=0.0)
        tokens = prompt["prompt_token_ids"] + [0] * 9 * len(images)
        yield SimpleNamespace(
            outputs=[part], finished=True, metrics=times, num_cached_tokens=0, prompt_token_ids=tokens
        )


def asked(*pictures: Image.Image) -> Request:
    return Request("r", [5, 256, 6], Sampling(8), pictures)


async def test_pictures_go_along_with_the_prompt() -> None:
    """A prompt of tokens that is not typed as one: so vLLM puts as many tokens as needed in the place of each mark."""
    llm = Llm()
    engine = VllmEngine(llm, None, INFO)  # type: ignore[arg-type]
    usage = [chunk.usage async for chunk in engine.generate(asked(PICTURE))][-1]

    assert llm.prompts == [{"prompt_token_ids": [5, 256, 6], "multi_modal_data": {"image": [PICTURE]}}]
    assert usage is not None
    assert usage.prompt_tokens == 12


async def test_a_prompt_without_pictures_needs_no_look_at_it() -> None:
    llm = Llm()
    await exhaust(VllmEngine(llm, None, INFO), asked())  # type: ignore[arg-type]

    assert llm.prompts == [{"type": "token", "prompt_token_ids": [5, 256, 6]}]


async def test_pictures_that_do_not_fit_are_refused_with_the_numbers() -> None:
    """Only vLLM knows how many tokens they have; it refuses them before it reads any."""
    with pytest.raises(PromptTooLong) as refused:
        await exhaust(VllmEngine(Llm(TOO_LONG), None, INFO), asked(PICTURE))  # type: ignore[arg-type]

    assert (refused.value.tokens, refused.value.limit) == (9000, 8191)


async def test_any_other_refusal_fails_the_answer() -> None:
    with pytest.raises(GenerationFailed):
        await exhaust(VllmEngine(Llm("At most 1 image(s) may be provided."), None, INFO), asked(PICTURE))  # type: ignore[arg-type]
