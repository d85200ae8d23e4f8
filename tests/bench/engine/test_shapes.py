import json
from pathlib import Path

import pytest

from clawdbot.bench.engine.shapes import SHAPES, ShapeName, write
from clawdbot.prompts.prompt import assemble


@pytest.mark.parametrize(
    ("name", "hidden", "layers", "vocabulary", "tied"),
    [
        ("qwen2-0.5b", 896, 24, 151_936, True),
        ("qwen2-7b", 3584, 28, 152_064, False),
        ("qwen2.5-14b", 5120, 48, 152_064, False),
    ],
)
def test_a_shape_has_the_sizes_of_its_model(
    tmp_path: Path, name: str, hidden: int, layers: int, vocabulary: int, tied: bool
) -> None:
    config = json.loads((write(SHAPES[ShapeName(name)], tmp_path) / "config.json").read_text())

    sizes = (config["hidden_size"], config["num_hidden_layers"], config["vocab_size"], config["tie_word_embeddings"])
    assert sizes == (hidden, layers, vocabulary, tied)


@pytest.mark.engine
async def test_its_tokenizer_knows_every_byte_and_turns(tmp_path: Path) -> None:
    """Nothing has to be fetched: the bot can talk through it, as to any other model."""
    from clawdbot.engine.pretrained import context_of, load_tokenizer

    folder = str(write(SHAPES[ShapeName.QWEN2_0_5B], tmp_path))
    tokenizer = load_tokenizer(folder)

    try:
        text = "Grüße, 你好 <|im_end|>"
        encoded = await tokenizer.encode(text)
        pieces = await tokenizer.pieces(["system", "user"])
    finally:
        tokenizer.close()

    assert sorted(set(encoded)) == sorted(set(text.encode()))
    assert assemble(pieces, [[1], [2]]).count(257) == 3, "three turns are opened"
    assert context_of(folder) == 32_768
