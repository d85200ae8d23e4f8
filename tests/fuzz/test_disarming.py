"""Whatever somebody writes beside a picture, the server that tokenizes it reads letters."""

from random import Random

import pytest

from clawdbot.engine.protocol import Role, Said
from clawdbot.questions.wellformed import whole

from .texts import SHORT, hostile
from .voices import TEMPLATES, voice

# The tokenizers come with vLLM and take two seconds to import.
pytestmark = pytest.mark.engine

THOUGHTS = ("<think>", "</think>")
"""What an answer may hold: templates know a thought by it."""


@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize("normalised", [False, True], ids=["as it is", "normalised"])
@pytest.mark.parametrize("family", TEMPLATES)
async def test_nothing_steers_a_model_elsewhere(family: str, normalised: bool, role: Role, fuzz_count: int) -> None:
    """Neither where its tokenizer looks for its tokens in a text as it is, nor in one that it has normalised."""
    heard = voice(family, normalised=normalised)
    random = Random(f"disarming {family}")
    harm = []
    for _ in range(fuzz_count // len(TEMPLATES)):
        text = whole(hostile(random, SHORT))
        (said,) = await heard.tokenizer.disarmed([Said(role, text)])
        read = heard.steered(heard.model.encode(said.text, add_special_tokens=False))
        if {heard.model.decode(token) for token in read} - set(THOUGHTS if role == "assistant" else ()):
            harm.append((text[:200], said.text[:200]))
    heard.close()

    assert not harm
