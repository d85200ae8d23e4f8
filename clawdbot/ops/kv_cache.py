"""How full vLLM's KV cache is, by its own gauge, which it keeps in the default registry of the bot's process."""

from prometheus_client import REGISTRY, CollectorRegistry

GAUGE = "vllm:kv_cache_usage_perc"
"""In spite of its name a share, 0 to 1; set with every step of the engine."""


def share_in_use(registry: CollectorRegistry = REGISTRY) -> float:
    """The part of the cache that requests hold, 0 to 1; what is only kept for later ones does not count.

    0 where no engine runs.
    """
    samples = (sample for metric in registry.collect() for sample in metric.samples)
    return sum(sample.value for sample in samples if sample.name == GAUGE)
