"""The servers that the files in ``deploy`` start, by vLLM's own command line."""

import re
import runpy
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from clawdbot.engine.arguments import GRAPH_SIZES
from clawdbot.engine.remote.settings import RemoteSettings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"

pytestmark = pytest.mark.engine


def parsed(*arguments: str) -> Mapping[str, Any]:
    """What ``vllm serve`` would go by; an unknown option or a value that is none ends in an error."""
    options = pytest.importorskip("vllm.entrypoints.launchers.cli_args", reason="this vLLM has them elsewhere")
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    read: Mapping[str, Any] = vars(options.make_arg_parser(FlexibleArgumentParser()).parse_args(list(arguments)))
    return read


def composed() -> list[str]:
    """The options in ``compose.yaml``, with what stands there where MODEL is not set."""
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    return [re.sub(r"\$\{\w+:-(.*?)\}", r"\1", option) for option in services["vllm"]["command"]]


def stacked() -> list[str]:
    """Those that the production stack's chart makes of its values, as far as they are options of vLLM."""
    values = yaml.safe_load((DEPLOY / "production-stack.yaml").read_text(encoding="utf-8"))
    (model,) = values["servingEngineSpec"]["modelSpec"]
    vllm = model["vllmConfig"]
    assert vllm["enablePrefixCaching"]
    assert vllm["enableChunkedPrefill"]
    return [f"--model={model['modelURL']}", f"--max-model-len={vllm['maxModelLen']}", *vllm["extraArgs"]]


def described() -> list[str]:
    """Those of the command in ``docs/cluster.md``."""
    text = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^    vllm serve ((?:[^\\\n]*\\\n)+.*)$", text, re.M)
    return ["--model", *command.replace("\\\n", " ").split()]


def on_ray() -> dict[str, Any]:
    """The engine's arguments in ``ray_serve.py``, by their names in Python; Ray itself is taken by whoever wants it."""
    taken = dict[str, Any]()

    def config(**settings: Any) -> None:
        taken.update(settings["engine_kwargs"])

    module = ModuleType("ray.serve.llm")
    vars(module).update(LLMConfig=config, build_openai_app=lambda settings: None)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("ray", "ray.serve"):
            patch.setitem(sys.modules, name, ModuleType(name))
        patch.setitem(sys.modules, "ray.serve.llm", module)
        runpy.run_path(str(DEPLOY / "ray_serve.py"))
    return taken


@pytest.mark.parametrize("options", [composed, stacked, described], ids=lambda options: options.__name__)
def test_vllm_knows_the_options_and_they_fit_the_bot(options: Any) -> None:
    """The bot reads as many long prompts at a time as its own `step_budget` says; it asks for the others by itself."""
    read = parsed(*options())

    assert read["max_num_batched_tokens"] == RemoteSettings().step_budget
    assert read["long_prefill_token_threshold"] == 960
    assert read["max_model_len"] == 8192
    assert (read["enable_prompt_tokens_details"], read["enable_per_request_metrics"]) == (True, True)


@pytest.mark.parametrize("options", [composed, stacked], ids=lambda options: options.__name__)
def test_large_steps_have_graphs_and_the_model_has_no_say(options: Any) -> None:
    """As in the engine in the bot: a step between 512 and 2,048 tokens costs 17 ms more without one."""
    read = parsed(*options())
    sizes = read["compilation_config"].cudagraph_capture_sizes

    assert max(sizes) == max(GRAPH_SIZES)
    assert {size for size in GRAPH_SIZES if size > 512} <= set(sizes)
    assert read["generation_config"] == "vllm"


def test_ray_hands_on_what_vllm_knows() -> None:
    from vllm.engine.arg_utils import AsyncEngineArgs

    arguments = on_ray()
    known = {name for name in AsyncEngineArgs.__dataclass_fields__}

    assert set(arguments) - known == set()
    assert arguments["max_num_batched_tokens"] == RemoteSettings().step_budget
    assert arguments["compilation_config"]["cudagraph_capture_sizes"][-1] == max(GRAPH_SIZES)
