"""Turns a GGUF file into a folder that vLLM reads: ``python -m clawdbot.engine.convert FILE.gguf FOLDER``."""

import sys
from pathlib import Path


def convert(gguf: Path, folder: Path) -> None:
    """Write weights in bfloat16, tokenizer and chat template of ``gguf`` into ``folder``."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
    from transformers.utils import logging

    logging.disable_progress_bar()
    whole = GgufConfig(dequantize=True)
    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.bfloat16, quantization_config=whole
    )
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(folder)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
