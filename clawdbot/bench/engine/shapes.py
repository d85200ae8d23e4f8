"""Models that have a size but no weights: latency does not depend on what the weights are.

A folder of a shape holds a ``config.json`` and a tokenizer of 256 bytes; vLLM fills in weights by itself
(``load_format="dummy"``). Prompts are token ids, so nothing has to be fetched.
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

DUMMY = {"load_format": "dummy"}
"""The engine's arguments for such a folder."""

CONTEXT = 32_768

_MARKS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_TEMPLATE = (
    "{% for turn in messages %}<|im_start|>{{ turn.role }}\n{{ turn.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


class ShapeName(StrEnum):
    """The shapes that can be measured."""

    QWEN2_0_5B = "qwen2-0.5b"
    QWEN2_7B = "qwen2-7b"
    QWEN2_5_14B = "qwen2.5-14b"


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a Qwen2 model, as its own ``config.json`` names them."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    intermediate: int
    vocabulary: int
    tied: bool
    """Whether input and output embedding are one."""


SHAPES = {
    ShapeName.QWEN2_0_5B: Shape(896, 24, 14, 2, 4864, 151_936, tied=True),
    ShapeName.QWEN2_7B: Shape(3584, 28, 28, 4, 18_944, 152_064, tied=False),
    ShapeName.QWEN2_5_14B: Shape(5120, 48, 40, 8, 13_824, 152_064, tied=False),
}


def write(shape: Shape, folder: Path) -> Path:
    """Write the files of a model of this shape into ``folder``, which is made; the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {"config.json": _config(shape), "tokenizer.json": _tokenizer(), "tokenizer_config.json": _chat()}
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


def _config(shape: Shape) -> dict[str, Any]:
    return {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "intermediate_size": shape.intermediate,
        "vocab_size": shape.vocabulary,
        "tie_word_embeddings": shape.tied,
        "max_position_embeddings": CONTEXT,
        "rope_theta": 1_000_000.0,
        "rms_norm_eps": 1e-6,
        "hidden_act": "silu",
        "torch_dtype": "bfloat16",
        "bos_token_id": 256,
        "eos_token_id": 258,
    }


def _tokenizer() -> dict[str, Any]:
    """A byte-level tokenizer without merges: every byte is a token."""
    marks = [
        {"id": 256 + number, "content": mark, "special": True}
        | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        for number, mark in enumerate(_MARKS)
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": marks,
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": _bytes(), "merges": []},
    }


def _bytes() -> dict[str, int]:
    """How byte-level tokenizers write the 256 bytes: printable Latin ones as themselves, the others from U+0100 on."""
    printable = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    others = iter(range(256, 512))
    return {chr(byte if byte in printable else next(others)): byte for byte in range(256)}


def _chat() -> dict[str, Any]:
    return {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": _MARKS[2], "chat_template": _TEMPLATE}
