"""A model that sees, of random weights: what it says has no sense, but pictures go the way of a trained one's."""

from pathlib import Path
from typing import Any

SIDE, PATCH, JOINED = 32, 8, 2
"""Pixels of a picture and of its parts, and how many parts on a side become one token."""
PICTURE_TOKENS = (SIDE // PATCH // JOINED) ** 2
CONTEXT = 512

TEMPLATE = (
    "{% for turn in messages %}<|im_start|>{{ turn.role }}\n"
    "{% if turn.content is string %}{{ turn.content }}{% else %}{% for part in turn.content %}"
    "{% if part.type == 'image' %}<image>{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_MARKS = ("<image>", "<fake_token_around_image>", "<end_of_utterance>", "<global-img>")


def make(folder: Path, tokenizer_of: str) -> None:
    """Put a small Idefics3 into ``folder``, with the tokenizer of the model in the folder ``tokenizer_of``."""
    import torch
    from transformers import AutoTokenizer, Idefics3ForConditionalGeneration, Idefics3Processor
    from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil

    tokenizer = AutoTokenizer.from_pretrained(tokenizer_of)
    places = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    tokenizer.add_special_tokens({"additional_special_tokens": [*_MARKS, *places]})
    tokenizer.chat_template = TEMPLATE
    side = {"longest_edge": SIDE}
    pictures = Idefics3ImageProcessorPil(size=side, max_image_size=side, do_image_splitting=False)
    torch.manual_seed(1)
    model = Idefics3ForConditionalGeneration(_config(tokenizer))
    parts = (
        model,
        tokenizer,
        Idefics3Processor(pictures, tokenizer, image_seq_len=PICTURE_TOKENS, chat_template=TEMPLATE),
    )
    for part in parts:
        part.save_pretrained(folder)


def _config(tokenizer: Any) -> Any:
    from transformers import Idefics3Config

    ids = {name: getattr(tokenizer, name) for name in ("pad_token_id", "bos_token_id", "eos_token_id")}
    eye = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1, "num_attention_heads": 1}
    mind = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 1, "num_attention_heads": 2}
    size = {"vocab_size": len(tokenizer), "max_position_embeddings": CONTEXT, "num_key_value_heads": 2}
    return Idefics3Config(
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        pad_token_id=ids["pad_token_id"],
        scale_factor=JOINED,
        vision_config={**eye, "image_size": SIDE, "patch_size": PATCH},
        text_config={"model_type": "llama", **mind, **size, **ids},
    )
