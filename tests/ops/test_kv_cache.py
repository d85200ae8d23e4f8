"""How full the KV cache is, read as Prometheus would read it."""

from prometheus_client import CollectorRegistry, Gauge

from clawdbot.ops.kv_cache import GAUGE, share_in_use


def test_it_is_what_vllms_own_gauge_says() -> None:
    registry = CollectorRegistry()
    gauge = Gauge(GAUGE, "KV-cache usage. 1 means 100 percent usage.", ["model_name", "engine"], registry=registry)
    gauge.labels("demo", "0").set(0.25)
    assert share_in_use(registry) == 0.25


def test_without_an_engine_it_is_empty() -> None:
    assert share_in_use(CollectorRegistry()) == 0
