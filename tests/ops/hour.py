"""An hour of a bot that people talk to, on a clock that is turned by hand, as Prometheus would have scraped it."""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from clawdbot.engine.protocol import Request
from clawdbot.errors import Limited, Unreachable
from clawdbot.ops.gauges import Gauges, Gpu
from clawdbot.ops.metrics import Metrics
from clawdbot.ops.readings import read
from clawdbot.ops.watch import tallied
from clawdbot.testing.engine import Script
from clawdbot.testing.memory import Mishap
from clawdbot.testing.rig import EVE, Rig, question

SCRAPE = 60.0
"""Seconds between scrapes."""
ROUNDS = 60
ASKED_EVERY = 2
"""Scrapes."""
GAUGES = Gauges((Gpu("NVIDIA H200", 0.4, 60 << 30, 140 << 30),), 1.2, 3 << 30)

VLLM = Path(__file__).parent / "recorded" / "vllm-metrics.txt"
"""A real vLLM's metrics after some answers; in this hour they grow by the same again with every scrape."""


def answer(request: Request) -> Script:
    if "fail" in question(request.prompt):
        return Script([], first=0.5, fails=True)
    return Script(["Herons ", "stand ", "in ", "shallow ", "water ", "and ", "wait."], first=0.4, gap=0.4)


async def an_hour(rig: Rig) -> list[str]:
    """The lines of an OpenMetrics file with a time each."""
    metrics, told, lines = Metrics(), 0, list[str]()
    with tallied(metrics):
        async with rig.running():
            await rig.until(lambda: rig.app.host.ready)
            for number in range(ROUNDS):
                if number % ASKED_EVERY == 0:
                    await ask(rig, number // ASKED_EVERY)
                await rig.clock.advance(SCRAPE - rig.clock.now() % SCRAPE)
                for fact in rig.facts[told:]:
                    metrics.observe(fact)
                told = len(rig.facts)
                metrics.lagged(0.002)
                text = metrics.render(read(rig.app, {"memory": rig.platform}), GAUGES).decode()
                lines += written([*families(text), *grown(VLLM.read_text(encoding="utf-8"), number)], rig.clock.wall())
    return [*lines, "# EOF"]


async def ask(rig: Rig, number: int) -> None:
    """What people do: most ask, some are strangers, some stop an answer; some calls are refused or lost."""
    reply = rig.platform.say("Please fail" if number % 5 == 4 else "What do herons do?")
    if number % 3 == 1:
        reply.inject("edit", Mishap(Limited(3.0)), Mishap(Unreachable("no network")))
    if number % 4 == 2:
        rig.platform.say("Let me in", EVE)
        logging.getLogger("clawdbot.answers.answering").error("an answer failed", exc_info=ValueError())
    await rig.idle()


def families(text: str) -> Iterator[Metric]:
    """The metrics of the bot in a scrape; those of this very process stay out."""
    return (found for found in text_string_to_metric_families(text) if found.name.startswith("clawdbot_"))


def grown(text: str, number: int) -> Iterator[Metric]:
    """The metrics of a scrape, with what only grows ``number`` times as much."""
    for found in text_string_to_metric_families(text):
        if found.type in ("counter", "histogram"):
            found.samples = [sample._replace(value=sample.value * (number + 1)) for sample in found.samples]
        yield found


def written(found: Iterable[Metric], at: float) -> Iterator[str]:
    """Each sample as a line with the time of its scrape, seconds since the epoch."""
    for family in found:
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sample.labels.items())
            yield f"{sample.name}{{{labels}}} {sample.value} {at:.3f}"
