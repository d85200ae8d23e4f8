"""Tokenizers under attack: a model's own with its chat template, for each family, and the one of all tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clawdbot.engine.protocol import Tokenizer
from clawdbot.engine.tokenizer import ChatTokenizer
from clawdbot.testing.engine import CharacterTokenizer

from .texts import CONTROLS

CHATML = (
    "{% for turn in messages %}<|im_start|>{{ turn.role }}\n{{ turn.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TEMPLATES: Mapping[str, str] = {
    "chatml": CHATML,
    "llama": (
        "<|begin_of_text|>{% for turn in messages %}<|start_header_id|>{{ turn.role }}<|end_header_id|>\n\n"
        "{{ turn.content | trim }}<|eot_id|>{% endfor %}"
        "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
    ),
    "mistral": (
        "<s>{% for turn in messages %}{% if turn.role == 'user' %}[INST] {{ turn.content }}[/INST]"
        "{% elif turn.role == 'system' %}[SYSTEM_PROMPT]{{ turn.content }}[/SYSTEM_PROMPT]"
        "{% else %} {{ turn.content }}</s>{% endif %}{% endfor %}"
    ),
    "gemma": (
        "<bos>{% for turn in messages %}"
        "{% if turn.role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
        "<start_of_turn>{{ 'model' if turn.role == 'assistant' else turn.role }}\n"
        "{{ turn.content | trim }}<end_of_turn>\n{% endfor %}"
        "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
    ),
    "phi": (
        "{% for turn in messages %}<|{{ turn.role }}|>\n{{ turn.content }}<|end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>\n{% else %}<|endoftext|>{% endif %}"
    ),
    "smollm2": (
        "{% for turn in messages %}{% if loop.first and turn.role != 'system' %}<|im_start|>system\nYou are helpful."
        "<|im_end|>\n{% endif %}<|im_start|>{{ turn.role }}\n{{ turn.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    ),
    "deepseek": (
        "<｜begin▁of▁sentence｜>{% for turn in messages %}{% if turn.role == 'user' %}<｜User｜>{{ turn.content }}"
        "{% elif turn.role == 'assistant' %}<｜Assistant｜>{{ turn.content }}<｜end▁of▁sentence｜>"
        "{% else %}{{ turn.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}<｜Assistant｜>{% endif %}"
    ),
    "qwen": CHATML.replace("assistant\n{% endif", "assistant\n<think>\n\n</think>\n\n{% endif"),
}
"""As the families write them; a user's text stands in each at the same places."""

UNMARKED = frozenset(("<think>", "</think>", "<tool_call>", "<tool_response>", "<｜User｜>", "<｜Assistant｜>"))
"""Tokens that a model has and its tokenizer does not call special: it reads them in any text."""


@dataclass(frozen=True)
class Voice:
    """A tokenizer, and what its tokens are."""

    tokenizer: Tokenizer
    controls: frozenset[int]
    """The tokens that only the template may write."""
    model: Any = None
    """The library's own tokenizer; None where a token is a character."""

    def steered(self, tokens: Sequence[int]) -> list[int]:
        """The control tokens among ``tokens``."""
        return [token for token in tokens if token in self.controls]

    def read(self, tokens: Sequence[int]) -> str:
        """What ``tokens`` say, control tokens left out."""
        plain = [token for token in tokens if token not in self.controls]
        if self.model is None:
            return "".join(map(chr, plain))
        text: str = self.model.decode(plain)
        return text

    async def asked(self, prompt: Sequence[int]) -> str:
        """The last user turn of ``prompt``, perhaps with words of the template before it."""
        pieces = await self.tokenizer.pieces(["user"])
        end = len(prompt) - len(pieces[-1])
        begin = end
        while begin and prompt[begin - 1] not in self.controls:
            begin -= 1
        return self.read(prompt[begin:end])

    def close(self) -> None:
        """Let its thread end, if it has one."""
        if isinstance(self.tokenizer, ChatTokenizer):
            self.tokenizer.close()


def plain_voice() -> Voice:
    """A token a character."""
    return Voice(CharacterTokenizer(), frozenset(range(-6, 0)))


def voice(family: str, *, normalised: bool = False) -> Voice:
    """A byte-level tokenizer of 256 letters with the control tokens and the template of ``family``.

    ``normalised``: it looks for those tokens in a text that it has normalised.
    """
    import tokenizers
    import transformers

    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    core = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab={letter: number for number, letter in enumerate(letters)}, merges=[])
    )
    core.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = tokenizers.decoders.ByteLevel()
    controls = CONTROLS[family]
    if normalised:
        core.normalizer = tokenizers.normalizers.NFKC()
    tokens = [tokenizers.AddedToken(token, normalized=normalised) for token in controls]
    core.add_special_tokens([token for token in tokens if token.content not in UNMARKED])
    core.add_tokens([token for token in tokens if token.content in UNMARKED])
    model = transformers.PreTrainedTokenizerFast(tokenizer_object=core)
    model.chat_template = TEMPLATES[family]
    return Voice(ChatTokenizer(model), frozenset(range(len(letters), len(model))), model)
