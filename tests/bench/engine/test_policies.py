import pytest

from clawdbot.bench.engine.policies import Machine, Policy, start
from clawdbot.engine.arguments import complete

CPU, H200 = Machine(0), Machine(140 * 2**30)


@pytest.mark.parametrize(("machine", "context"), [(CPU, 4096), (H200, 16_384)])
def test_off_reads_every_prompt_in_one_step(machine: Machine, context: int) -> None:
    wanted = start(Policy.OFF, machine, "snappy")

    args = complete(wanted.args, on_cpu=not machine.has_gpu, limit=32_768, profile=wanted.profile)

    assert args["enable_chunked_prefill"] is False
    assert (args["max_num_batched_tokens"], args["long_prefill_token_threshold"]) == (context, 0)


@pytest.mark.parametrize(
    ("machine", "budget", "seqs"), [(CPU, 2048, 16), (Machine(24 * 2**30), 2048, 256), (H200, 8192, 1024)]
)
def test_on_is_what_the_server_of_vllm_does_by_itself(machine: Machine, budget: int, seqs: int) -> None:
    wanted = start(Policy.ON, machine, "snappy")

    args = complete(wanted.args, on_cpu=not machine.has_gpu, limit=32_768, profile=wanted.profile)

    assert args["enable_chunked_prefill"] is True
    assert (args["max_num_batched_tokens"], args["long_prefill_token_threshold"]) == (budget, 0)
    assert "compilation_config" not in args
    assert args.get("max_num_seqs") == seqs


@pytest.mark.parametrize("machine", [CPU, H200])
def test_first_token_first_is_what_the_bot_does_by_itself(machine: Machine) -> None:
    wanted = start(Policy.FIRST_TOKEN_FIRST, machine, "snappy")
    on_cpu = not machine.has_gpu

    args = complete(wanted.args, on_cpu=on_cpu, limit=32_768, profile=wanted.profile)

    assert args == complete({"max_model_len": machine.context}, on_cpu=on_cpu, limit=32_768, profile="snappy")
