"""How full the KV cache is, read as Prometheus would read it."""

from collections.abc import Iterator

import pytest
from prometheus_client import REGISTRY, Gauge

from clawdbot.ops.kv_cache import GAUGE, share_in_use


@pytest.fixture
def gauge() -> Iterator[Gauge]:
    """One that is called as vLLM's."""
    made = Gauge(GAUGE, "KV-cache usage. 1 means 100 percent usage.", ["model_name", "engine"])
    yield made
    REGISTRY.unregister(made)


def test_it_is_what_vllms_own_gauge_says(gauge: Gauge) -> None:
    gauge.labels("demo", "0").set(0.25)
    assert share_in_use() == 0.25


def test_without_an_engine_it_is_empty() -> None:
    assert share_in_use() == 0
