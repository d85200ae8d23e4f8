"""How a real server is started, as far as that needs none."""

import pytest

from clawdbot.errors import EngineUnavailable
from clawdbot.testing import served


def test_engine_arguments_become_options() -> None:
    """As `vllm serve` takes them: a switch is on or off, a table is JSON."""
    args = {"dtype": "float32", "max_num_seqs": 16, "enforce_eager": True, "use_tqdm_on_load": False, "c": {"a": [1]}}

    assert list(served.flags(args)) == [
        "--dtype=float32",
        "--max-num-seqs=16",
        "--enforce-eager",
        "--no-use-tqdm-on-load",
        '--c={"a": [1]}',
    ]


async def test_a_server_that_does_not_start_is_told_of_with_its_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "MODULE", "no.such.module")

    with pytest.raises(EngineUnavailable, match=r"No module named 'no'"):
        await served.vllm_serve("model", {}).__aenter__()


def test_a_server_gets_none_of_the_bots_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWDBOT_DISCORD_TOKEN", "secret")

    assert "secret" not in served.environment().values()
