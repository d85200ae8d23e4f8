"""What a model's own files say, read by transformers: its context and its tokenizer."""

from clawdbot.engine.tokenizer import ChatTokenizer
from clawdbot.errors import EngineUnavailable

USUAL_CONTEXT = 4096
"""Tokens, for the rare model that does not say how many it was made for."""


def context_of(model: str) -> int:
    """The most tokens that ``model`` (a folder or a hub name) was made for. Raises `EngineUnavailable`."""
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(model)
    except (OSError, ValueError) as error:
        raise _not_found(model, error) from error
    return int(getattr(config.get_text_config(), "max_position_embeddings", USUAL_CONTEXT))


def load_tokenizer(model: str) -> ChatTokenizer:
    """The tokenizer of ``model``, with its chat template. Raises `EngineUnavailable`."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(model)
    except (OSError, ValueError) as error:
        raise _not_found(model, error) from error
    return ChatTokenizer(tokenizer)


def _not_found(model: str, error: Exception) -> EngineUnavailable:
    return EngineUnavailable(
        f'The model "{model}" was not found or is not a model ({str(error).splitlines()[0]}).',
        'Set its model to a Hugging Face name such as "Qwen/Qwen2-7B-Instruct", to a folder, or to "demo".',
    )
