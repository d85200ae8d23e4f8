"""Why an engine in the bot cannot start, in sentences for its admin. Pure."""

from clawdbot.errors import EngineUnavailable


def check_device(wanted: str, on_cpu: bool) -> None:
    """Raise `EngineUnavailable` when this vLLM does not run on the device that is wanted."""
    if wanted == "cuda" and on_cpu:
        raise EngineUnavailable(
            'The configuration asks for device = "cuda", but this vLLM runs on the CPU or finds no GPU.',
            "Install `clawdbot[cuda]` and check that `nvidia-smi` lists a GPU.",
        )
    if wanted == "cpu" and not on_cpu:
        raise EngineUnavailable(
            'The configuration asks for device = "cpu", but the vLLM installed here is the one for GPUs.',
            "Install `clawdbot[cpu]` in an environment of its own.",
        )


def why(error: BaseException, model: str, on_cpu: bool, at: str) -> EngineUnavailable:
    """Why vLLM did not start, in one sentence, and what to do; ``at``: the table of the settings that it is from."""
    if isinstance(error, EngineUnavailable):
        return error
    text = str(error)
    lowered = text.lower()
    if "memory" in lowered or "kv cache" in lowered:
        remedy = (
            f"Set VLLM_CPU_KVCACHE_SPACE (GiB) lower, or choose a smaller model or [{at}.args] max_model_len."
            if on_cpu
            else f"Lower [{at}.args] max_model_len, choose a smaller or quantized model, or free the GPU."
        )
        return EngineUnavailable(f'There is not enough memory for the model "{model}".', remedy)
    reason = text.splitlines()[0] if text else type(error).__name__
    return EngineUnavailable(
        f"vLLM did not start: {reason}", "Its log above names the cause; set [logging] level to debug for all of it."
    )
