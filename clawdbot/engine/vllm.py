"""The language model in vLLM's `AsyncLLMEngine`: the only module that imports vLLM.

Written against vLLM 0.26 (CUDA) and 0.32 (CPU).
"""

import asyncio
import dataclasses
import gc
import logging
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    aclosing,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from typing import Any

from clawdbot.engine import arguments, pretrained, unavailable
from clawdbot.engine.process import prepare_environment, sheltered
from clawdbot.engine.protocol import Chunk, EngineInfo, Request, Sampling, Tokenizer, Usage, exhaust
from clawdbot.engine.survey import Survey
from clawdbot.engine.tokenizer import ChatTokenizer
from clawdbot.errors import EngineDead, EngineUnavailable, GenerationFailed, PromptTooLong
from clawdbot.tasks.loggers import adopt
from clawdbot.tasks.threads import run_apart

log = logging.getLogger(__name__)

WARM_UP_TOKENS = 8

SHUTDOWN = 2.0
"""Seconds that the engine's processes get to end by themselves."""

_TOO_LONG = re.compile(r"prompt \(length (\d+)\).* maximum\s+model length of (\d+)")
"""What vLLM says of a prompt that does not fit its context."""

_ENVIRONMENT_CPU = {"VLLM_CPU_KVCACHE_SPACE": "1"}  # GiB


class VllmEngine:
    """An `Engine` in vLLM; made by `open_vllm`."""

    def __init__(
        self,
        llm: Any,
        tokenizer: ChatTokenizer,
        info: EngineInfo,
        memory: AbstractAsyncContextManager[object] | None = None,
    ) -> None:
        """``memory``: what is entered for the time in which it gives memory back or takes it again."""
        self._llm = llm
        self._tokenizer = tokenizer
        self._info = info
        self._memory = memory or nullcontext()

    def close(self) -> None:
        """End the engine's processes; takes up to some seconds."""
        self._tokenizer.close()
        self._llm.shutdown(timeout=SHUTDOWN)
        # Its destructor shuts down once more, which fails when that is left to the end of the interpreter; it is in
        # reference cycles.
        self._llm = None
        gc.collect()

    @property
    def info(self) -> EngineInfo:
        """The settings in force."""
        return self._info

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer."""
        return self._tokenizer

    @property
    def unfinished(self) -> int:
        """How many requests the engine is working on or keeps waiting."""
        return int(self._llm.output_processor.get_num_unfinished_requests())

    async def generate(self, request: Request) -> AsyncGenerator[Chunk, None]:
        """See `Engine.generate`."""
        if self._llm is None:
            raise EngineDead("The engine is closed.")
        from vllm.exceptions import VLLMValidationError
        from vllm.sampling_params import RequestOutputKind, SamplingParams
        from vllm.v1.engine.exceptions import EngineDeadError, EngineGenerateError

        room = self._info.context - len(request.prompt)
        if room < 1:
            raise PromptTooLong(len(request.prompt), self._info.context - 1)
        sampling = request.sampling
        most = min(sampling.max_tokens, room)
        params = SamplingParams(
            max_tokens=most,
            min_tokens=min(sampling.min_tokens, most),
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            output_kind=RequestOutputKind.DELTA,
        )
        try:
            # Leaving `async for` does not close a generator; only closing it aborts the request.
            async with aclosing(self._llm.generate(_prompt(request), params, request.id)) as outputs:
                written = 0
                async for output in outputs:
                    written += len(output.outputs[0].token_ids)
                    read = len(output.prompt_token_ids) if request.images else len(request.prompt)
                    yield _chunk(output, read, written)
        except EngineDeadError as error:
            raise EngineDead("The engine core died.") from error
        except (EngineGenerateError, VLLMValidationError, ValueError) as error:
            raise _failure(error) from error

    async def forget(self) -> bool:
        """Empty the prefix cache, for measurements; False when a request that just ends still holds a part of it."""
        return bool(await self._llm.reset_prefix_cache())

    @property
    def can_sleep(self) -> bool:
        """Whether vLLM was started with its sleep mode, which there is on GPUs alone."""
        return bool(self._llm.vllm_config.model_config.enable_sleep_mode)

    async def sleep(self) -> None:
        """Move the weights to the machine's own memory and give up the KV cache, with all that it keeps of prompts."""
        async with self._memory:
            with _deaths():
                await self._llm.sleep(level=1)

    async def wake(self) -> None:
        """Take the GPU's memory again. Raises whatever vLLM does when others have taken it meanwhile."""
        async with self._memory:
            with _deaths():
                await self._llm.wake_up()

    async def died(self) -> None:
        """Return when the engine core is gone and the engine has to be opened again."""
        # This task of vLLM's own reads from the core and ends with it; the warm-up has started it.
        await asyncio.wait({self._llm.output_handler})


@contextmanager
def _deaths() -> Iterator[None]:
    from vllm.v1.engine.exceptions import EngineDeadError

    try:
        yield
    except EngineDeadError as error:
        raise EngineDead("The engine core died.") from error


@asynccontextmanager
async def open_vllm(
    model: str,
    device: str,
    args: Mapping[str, Any],
    profile: arguments.Profile = "balanced",
    *,
    sleeps: bool = False,
    at: str = "engine",
    library: AbstractContextManager[object] | None = None,
    memory: AbstractAsyncContextManager[object] | None = None,
) -> AsyncIterator[VllmEngine]:
    """Start vLLM with ``model`` (a folder or a hub name) and further ``AsyncEngineArgs`` fields.

    ``sleeps``: be able to sleep, where that is possible. ``at``: the table of the settings that all this is from.
    ``library``: what a thread enters for the time in which it imports, or loads a tokenizer. ``memory``: what the
    engine enters for the time in which it falls asleep or wakes; whoever opens another one holds it likewise.

    Raises `EngineUnavailable` with a remedy, or `ConfigError` for arguments that this vLLM does not know.
    """
    prepare_environment()
    # Importing and starting happen in threads one after the other: vLLM keeps an exception of its import, which keeps
    # the frames below it, and an engine in one of those would outlive its `close`.
    library = library or nullcontext()
    await run_apart(lambda: _alone(library))
    engine = await run_apart(
        lambda: _start(model, device, args, profile, sleeps=sleeps, at=at, library=library, memory=memory),
        unwanted=lambda late: late.close(),
    )
    try:
        await _warm_up(engine)
        yield engine
    finally:
        # Shielded: a second cancellation must not leave the core behind. vLLM limits the time.
        await asyncio.shield(asyncio.to_thread(engine.close))


async def _warm_up(engine: VllmEngine) -> None:
    """Many short answers beside one long prompt, so that no user pays for what vLLM does once.

    Kernels are compiled when a step of their kind first occurs, and some kinds only with eight requests or more: on an
    H200 the first 16 questions after a start that had seen seven together waited five seconds.
    """
    word = await engine.tokenizer.encode("Hello")
    beginnings = [word * length for length in (*range(1, 16), engine.info.step_budget + 1)]
    room = engine.info.context - WARM_UP_TOKENS
    requests = [
        Request(f"warm-up {number}", beginning[:room], Sampling(WARM_UP_TOKENS))
        for number, beginning in enumerate(beginnings)
    ]
    await asyncio.gather(*(exhaust(engine, request) for request in requests))


def _alone(library: AbstractContextManager[object]) -> None:
    with library:
        _import()


def _import() -> None:
    _import_library()
    adopt()  # it and what it brings along write to the terminal by themselves; later releases once an engine is made


def _import_library() -> None:
    try:
        import vllm.v1.engine.async_llm  # noqa: F401
    except ImportError as error:
        if ".so" in str(error):
            remedy = "A system library is missing: on Debian and Ubuntu `apt-get install libnuma1` is what vLLM needs."
        else:
            remedy = "Install `clawdbot[cuda]` on a machine with an NVIDIA GPU, `clawdbot[cpu]` on any other."
        raise EngineUnavailable(f"vLLM cannot be imported ({error}).", remedy) from error


def _start(
    model: str,
    device: str,
    args: Mapping[str, Any],
    profile: arguments.Profile,
    *,
    sleeps: bool,
    at: str,
    library: AbstractContextManager[object],
    memory: AbstractAsyncContextManager[object] | None,
) -> VllmEngine:
    """Start everything; takes seconds to minutes."""
    from vllm import __version__
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.platforms import current_platform
    from vllm.v1.engine.async_llm import AsyncLLM

    on_cpu = bool(current_platform.is_cpu())
    unavailable.check_device(device, on_cpu)
    arguments.check_names(args, (field.name for field in dataclasses.fields(AsyncEngineArgs)), at)
    if on_cpu:
        for name, value in _ENVIRONMENT_CPU.items():
            os.environ.setdefault(name, value)
    if sleeps and current_platform.is_sleep_mode_available():
        args = {"enable_sleep_mode": True, **args}
    with library:
        completed = arguments.complete(args, on_cpu=on_cpu, limit=pretrained.context_of(model), profile=profile)
        tokenizer = pretrained.load_tokenizer(completed.get("tokenizer") or model)
    try:
        with sheltered():
            llm = AsyncLLM.from_engine_args(AsyncEngineArgs(model=model, **completed))
    except (RuntimeError, ValueError, TypeError, OSError, MemoryError) as error:
        raise unavailable.why(error, model, on_cpu, at) from error
    finally:
        adopt()
    info = _info_of(llm, model, f"vLLM {__version__}", current_platform, _images(llm, tokenizer))
    return VllmEngine(llm, tokenizer, info, memory)


def surveyed() -> Survey:
    """What this vLLM is; imports it. Raises `EngineUnavailable`."""
    prepare_environment()
    _import()
    from vllm import __version__
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.platforms import current_platform

    names = tuple(field.name for field in dataclasses.fields(AsyncEngineArgs))
    return Survey(__version__, bool(current_platform.is_cpu()), names)


def _info_of(llm: Any, model: str, version: str, platform: Any, images: int) -> EngineInfo:
    scheduler, cache = llm.vllm_config.scheduler_config, llm.vllm_config.cache_config
    blocks = int(cache.num_gpu_blocks or 0) if cache.enable_prefix_caching else 0
    device = f"CPU, {os.cpu_count()} cores" if platform.is_cpu() else str(platform.get_device_name())
    return EngineInfo(
        model=model.rstrip("/").rsplit("/", 1)[-1],
        device=device,
        version=version,
        context=int(llm.vllm_config.model_config.max_model_len),
        chunked_prefill=bool(scheduler.enable_chunked_prefill),
        step_budget=int(scheduler.max_num_batched_tokens),
        long_prefill=int(scheduler.long_prefill_token_threshold),
        cache_tokens=blocks * int(cache.block_size),
        cache_block=int(cache.block_size),
        images=images,
    )


def _images(llm: Any, tokenizer: ChatTokenizer) -> int:
    """How many pictures a prompt may have: the model and its chat template both have to know them."""
    config = llm.vllm_config.model_config
    if not (config.is_multimodal_model and tokenizer.shows_images):
        return 0
    return int(config.multimodal_config.get_limit_per_prompt("image"))


def _prompt(request: Request) -> dict[str, Any]:
    """A prompt for vLLM. With pictures vLLM has to look at it first, which it does in a thread of its own.

    It puts as many tokens as each picture needs in the place of its mark.
    """
    if not request.images:
        return {"type": "token", "prompt_token_ids": request.prompt}
    return {"prompt_token_ids": request.prompt, "multi_modal_data": {"image": list(request.images)}}


def _failure(error: Exception) -> GenerationFailed | PromptTooLong:
    """How many tokens pictures have is known to vLLM alone; it refuses too many before it reads any."""
    if too_long := _TOO_LONG.search(str(error)):
        return PromptTooLong(int(too_long[1]), int(too_long[2]) - 1)
    return GenerationFailed(f"vLLM could not finish an answer: {error}")


def _chunk(output: Any, prompt_tokens: int, written: int) -> Chunk:
    part = output.outputs[0]
    tokens = list(part.token_ids)
    if not output.finished:
        return Chunk(part.text, tokens)
    if part.finish_reason == "stop" and tokens:
        tokens.pop()  # the end-of-turn token: the chat template writes its own
    stats = output.metrics
    usage = Usage(
        queued=stats.queued_ts,
        scheduled=stats.scheduled_ts,
        first_token=stats.first_token_ts,
        last_token=stats.last_token_ts,
        prompt_tokens=prompt_tokens,
        cached_tokens=output.num_cached_tokens or 0,
        output_tokens=written,
    )
    return Chunk(part.text, tokens, "stop" if part.finish_reason == "stop" else "length", usage)
