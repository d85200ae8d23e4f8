"""What vLLM is started with: the admin's word counts, the rest is safe for the device and free of contradictions."""

from dataclasses import replace
from typing import Any

import pytest

from clawdbot.engine.arguments import CPU_CONTEXT, DEFAULTS_CPU, DEFAULTS_CUDA, Profile, check_names, complete
from clawdbot.errors import ConfigError
from clawdbot.testing.engine import INFO

KNOWN = ("model", "max_model_len", "max_num_batched_tokens", "gpu_memory_utilization", "enable_chunked_prefill")


def completed(
    *, on_cpu: bool = False, limit: int = 32_768, profile: Profile = "balanced", **chosen: Any
) -> dict[str, Any]:
    return complete(chosen, on_cpu=on_cpu, limit=limit, profile=profile)


def test_known_names_pass() -> None:
    check_names(["max_model_len", "gpu_memory_utilization"], KNOWN)


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    """All of them at once, each in a sentence of its own."""
    with pytest.raises(ConfigError) as caught:
        check_names(["max_modellen", "zzz", "chunked_prefill_chunk_size"], KNOWN)

    chunk, length, nonsense = caught.value.faults
    assert chunk.startswith("engine.args.chunked_prefill_chunk_size: ")
    assert length == (
        "engine.args.max_modellen: this vLLM's AsyncEngineArgs has no such argument; did you mean 'max_model_len'?"
    )
    assert nonsense.startswith("engine.args.zzz: this vLLM's AsyncEngineArgs has no such argument; ")


def test_two_hundred_names_are_not_listed() -> None:
    with pytest.raises(ConfigError, match=r"none of the 200 known ones is like it\.$"):
        check_names(["zzz"], [f"argument_{number}" for number in range(200)])


@pytest.mark.parametrize("on_cpu", [False, True])
def test_chunked_prefill_is_on_and_a_long_prompt_takes_half_a_step_at_most(on_cpu: bool) -> None:
    """So that a short question passes somebody's pasted document."""
    args = completed(on_cpu=on_cpu)

    assert args["enable_chunked_prefill"] is True
    assert 0 < args["long_prefill_token_threshold"] <= args["max_num_batched_tokens"] // 2


@pytest.mark.parametrize("on_cpu", [False, True])
def test_the_admins_word_counts(on_cpu: bool) -> None:
    chosen: dict[str, Any] = {
        "max_num_batched_tokens": 777,
        "long_prefill_token_threshold": 700,
        "gpu_memory_utilization": 0.5,
        "max_num_seqs": 3,
        "max_model_len": 1234,
        "dtype": "bfloat16",
        "tensor_parallel_size": 2,
    }

    assert completed(on_cpu=on_cpu, **chosen).items() >= chosen.items()


def test_defaults_suit_the_device() -> None:
    """A CPU without AVX-512 is four times faster in float32, and a share of 0.92 of all RAM fails at start."""
    cpu, cuda = completed(on_cpu=True), completed(on_cpu=False)

    assert (cpu["dtype"], cpu["gpu_memory_utilization"]) == ("float32", DEFAULTS_CPU["gpu_memory_utilization"])
    assert "dtype" not in cuda
    assert cuda["gpu_memory_utilization"] == DEFAULTS_CUDA["gpu_memory_utilization"]


def test_a_smaller_step_makes_the_bound_for_long_prompts_smaller() -> None:
    assert completed(max_num_batched_tokens=512)["long_prefill_token_threshold"] == 256


def test_a_greater_step_keeps_it() -> None:
    assert completed(max_num_batched_tokens=8192)["long_prefill_token_threshold"] == 960


def test_no_more_answers_a_step_than_it_has_tokens() -> None:
    """vLLM refuses to start otherwise."""
    assert completed(on_cpu=True, max_num_batched_tokens=8)["max_num_seqs"] == 8


@pytest.mark.parametrize(("limit", "expected"), [(131_072, CPU_CONTEXT), (2048, 2048)])
def test_the_context_on_a_cpu_is_one_that_somebody_waits_for(limit: int, expected: int) -> None:
    assert completed(on_cpu=True, limit=limit)["max_model_len"] == expected


def test_the_context_on_a_gpu_is_the_models() -> None:
    assert "max_model_len" not in completed(on_cpu=False)


@pytest.mark.parametrize(
    ("chosen", "step"),
    [
        ({}, 32_768),
        ({"max_model_len": 4096}, 4096),
        ({"max_model_len": 4096, "max_num_batched_tokens": 8192}, 8192),
        ({"max_model_len": 4096, "max_num_batched_tokens": 512}, 4096),
    ],
)
def test_without_chunked_prefill_a_step_takes_the_longest_prompt(chosen: dict[str, Any], step: int) -> None:
    """vLLM refuses to start otherwise; and a bound for long prompts has no meaning then."""
    args = completed(enable_chunked_prefill=False, **chosen)

    assert args["max_num_batched_tokens"] == step
    assert args["long_prefill_token_threshold"] == 0


@pytest.mark.parametrize("on_cpu", [True, False])
def test_a_snappy_profile_gives_long_prompts_less_of_a_step(on_cpu: bool) -> None:
    """A throughput profile gives them all of a greater one."""
    balanced = completed(on_cpu=on_cpu)
    snappy = completed(on_cpu=on_cpu, profile="snappy")
    throughput = completed(on_cpu=on_cpu, profile="throughput")

    assert snappy["long_prefill_token_threshold"] < balanced["long_prefill_token_threshold"]
    assert snappy["max_num_batched_tokens"] == balanced["max_num_batched_tokens"]
    assert throughput["max_num_batched_tokens"] > balanced["max_num_batched_tokens"]
    assert throughput["long_prefill_token_threshold"] == 0


def test_what_the_admin_chose_comes_before_the_profile() -> None:
    chosen: dict[str, Any] = {
        "max_num_batched_tokens": 4096,
        "long_prefill_token_threshold": 3000,
        "compilation_config": {"level": 0},
    }

    assert chosen.items() <= completed(on_cpu=False, profile="snappy", **chosen).items()


def test_steps_that_read_and_write_have_a_graph_up_to_their_budget() -> None:
    """vLLM captures none above 512 tokens by itself, and a step without one costs 17 ms of host time."""
    sizes = completed(on_cpu=False)["compilation_config"]["cudagraph_capture_sizes"]

    assert (min(sizes), max(sizes)) == (1, 2048)
    assert sorted(set(sizes)) == sizes


@pytest.mark.parametrize("chosen", [{"on_cpu": True}, {"profile": "throughput"}, {"enable_chunked_prefill": False}])
def test_nothing_else_asks_for_graphs(chosen: dict[str, Any]) -> None:
    """A CPU has none; where long prompts take whole steps there are too many sizes."""
    assert "compilation_config" not in completed(**chosen)


@pytest.mark.parametrize("profile", ["balanced", "snappy", "throughput"])
@pytest.mark.parametrize("on_cpu", [False, True])
def test_a_usual_follow_up_counts_as_short(profile: Profile, on_cpu: bool) -> None:
    """It has a question and the rest of a cache block to read, and must not stand in line behind a document."""
    args = completed(on_cpu=on_cpu, profile=profile)
    info = replace(INFO, step_budget=args["max_num_batched_tokens"], long_prefill=args["long_prefill_token_threshold"])
    question, rest_of_block = 60, args.get("block_size", 16) - 1

    assert not info.is_long(question + rest_of_block)
    assert info.is_long(info.step_budget + 1)
