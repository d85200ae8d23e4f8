"""Token ids are good as long as the tokenizer is the one that made them, whatever the model is called."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from clawdbot.engine.fingerprint import fingerprint

# They come with vLLM and take two seconds to import.
pytestmark = pytest.mark.engine

WORDS = ("H", "e", "l", "o", "ll", "he", "Ġ", "w", "r", "d")
MERGES = (("l", "l"), ("H", "e"))


def made(words: Sequence[str] = WORDS, merges: Sequence[tuple[str, str]] = (("l", "l"),)) -> Any:
    """A fast tokenizer with these words, numbered in their order."""
    import tokenizers
    import transformers

    core = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab={word: number for number, word in enumerate(words)}, merges=list(merges))
    )
    core.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.add_special_tokens(["<s>", "</s>"])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<s>", eos_token="</s>")


def slow() -> Any:
    """One that is written in Python."""
    import transformers

    return transformers.ByT5Tokenizer()


@pytest.mark.parametrize("make", [made, slow], ids=["fast", "slow"])
def test_the_same_tokenizer_has_the_same_one_wherever_it_lies(make: Any, tmp_path: Path) -> None:
    """Two models that share it share their tokens, too."""
    import transformers

    first = make()
    for name in ("here", "there"):
        first.save_pretrained(tmp_path / name)
    again = [type(first).from_pretrained(tmp_path / name) for name in ("here", "there")]

    assert isinstance(again[0], transformers.PreTrainedTokenizerBase)
    assert {fingerprint(one) for one in again} == {fingerprint(first)}


def test_it_is_the_same_in_every_process_and_version() -> None:
    """It lies in databases: were it another one tomorrow, every conversation would be tokenized and read anew."""
    assert fingerprint(made()) == "652a634aade8deddf4cb8799b32d153b"


@pytest.mark.parametrize(
    "other",
    [
        ("H", "e", "l", "o", "ll", "he", "Ġ", "w", "r", "D"),
        ("e", "H", "l", "o", "ll", "he", "Ġ", "w", "r", "d"),
        (*WORDS, "x"),
    ],
    ids=["another token", "two with each other's ids", "one more"],
)
def test_one_token_makes_another(other: Sequence[str]) -> None:
    assert fingerprint(made(other)) != fingerprint(made())


@pytest.mark.parametrize("make", [made, slow], ids=["fast", "slow"])
@pytest.mark.parametrize("special", [True, False])
def test_so_does_a_token_that_was_added(make: Any, special: bool) -> None:
    """As when a model was trained further, with marks of its own."""
    plain, more, other = make(), make(), make()
    more.add_tokens(["<|turn|>"], special_tokens=special)
    other.add_tokens(["<|turns|>"], special_tokens=special)

    assert len({fingerprint(one) for one in (plain, more, other)}) == 3


def test_so_does_another_way_to_cut_words() -> None:
    """Tokens that the tokenizer itself would not have made are read all the same, but not as the model learned it."""
    words = (*WORDS, "He")

    assert fingerprint(made(words, MERGES)) != fingerprint(made(words, MERGES[:1]))


def test_its_use_does_not_change_it() -> None:
    """How it was last told to cut and to fill up is kept in it, and is no part of what ids mean."""
    tokenizer = made()
    before = fingerprint(tokenizer)
    tokenizer.pad_token = "</s>"
    tokenizer(["Hello", "world Hello"], padding=True, truncation=True, max_length=3)

    assert fingerprint(tokenizer) == before
