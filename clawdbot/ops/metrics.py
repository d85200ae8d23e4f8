"""The bot's metrics for Prometheus: facts of the core in, text out.

No label holds a user, a chat or a text: each has a few values that are known beforehand. vLLM keeps its own metrics in
prometheus_client's default registry of the same process; they come below the bot's.
"""

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from clawdbot.errors import Limited
from clawdbot.latency.observed import Call, Fact, Failed, Received, Shown
from clawdbot.latency.timing import Timing, stages
from clawdbot.ops.gauges import Gauges
from clawdbot.ops.readings import ModelReading, Readings

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

WORDS = (0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0)
"""Seconds that somebody waits for a word."""
STEPS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Seconds of a part of such a wait."""
ANSWERS = (0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0)
"""Seconds of a whole answer, and seconds that a platform asks to wait."""


class Metrics:
    """Keeps them; `observe` is a `clawdbot.latency.observed.Observe`. All methods are safe in any thread."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()

        def counter(name: str, about: str, *labels: str) -> Counter:
            return Counter(f"clawdbot_{name}", about, labels, registry=registry)

        def histogram(name: str, about: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
            return Histogram(f"clawdbot_{name}_seconds", about, labels, buckets=buckets, registry=registry)

        self._received = counter("received", "Messages to the bot by what became of them.", "platform", "verdict")
        self._answers = counter("answers", "Answers by the state in which they ended.", "platform", "state", "model")
        self._tokens = counter("tokens", "Tokens of prompts, of them from the cache, and of answers.", "kind", "model")
        self._errors = counter("errors", "What the log has at level error, by exception and module.", "kind", "module")
        self._ttft = histogram(
            "time_to_first_token", "Receipt to the engine's first token.", WORDS, "platform", "model"
        )
        self._visible = histogram("first_visible", "Receipt to the first text on the screen.", WORDS, "platform")
        self._stages = histogram("stage", "Where the time of answers went.", STEPS, "platform", "stage")
        self._total = histogram("answer", "Receipt to the whole answer on the screen.", ANSWERS, "platform")
        self._gap = histogram("inter_token", "Mean time between an answer's tokens.", STEPS, "platform", "model")
        self._staleness = histogram("staleness", "For how long new text was missing on the screen.", STEPS, "platform")
        self._calls = counter("platform_calls", "Calls to platforms.", "platform", "kind", "outcome")
        self._call = histogram("platform_call", "Duration of calls to platforms.", STEPS, "platform", "kind")
        self._waits = histogram("platform_wait", "Seconds that platforms asked to wait.", ANSWERS, "platform")
        self._lag = histogram("loop_lag", "How late the event loop woke.", STEPS)
        self._state = State(registry)

    def observe(self, fact: Fact) -> None:
        """Count a fact."""
        match fact:
            case Timing():
                self._answer(fact)
            case Received():
                self._received.labels(fact.platform, fact.verdict).inc()
            case Call():
                self._called(fact)
            case Shown():
                self._staleness.labels(fact.platform).observe(fact.lag)
            case Failed():
                self._answers.labels(fact.platform, "failed", fact.model).inc()

    def lagged(self, seconds: float) -> None:
        """The event loop woke so much too late."""
        self._lag.observe(seconds)

    def logged(self, kind: str, module: str) -> None:
        """An error was logged."""
        self._errors.labels(kind, module).inc()

    def render(self, readings: Readings, gauges: Gauges) -> bytes:
        """All metrics as text, with what was read just now. Takes some milliseconds: call it in a thread."""
        self._state.take(readings, gauges)
        return generate_latest(self._registry) + generate_latest(REGISTRY)

    def _answer(self, timing: Timing) -> None:
        platform, model = timing.platform, timing.model
        self._answers.labels(platform, timing.state, model).inc()
        self._total.labels(platform).observe(timing.complete)
        if timing.first_token is not None:
            self._ttft.labels(platform, model).observe(timing.first_token)
        if timing.first_visible is not None:
            self._visible.labels(platform).observe(timing.first_visible)
            for stage, seconds in stages(timing):
                self._stages.labels(platform, stage).observe(seconds)
        if timing.tokens_per_second is not None:
            self._gap.labels(platform, model).observe(1 / timing.tokens_per_second)
        self._tokens.labels("prompt", model).inc(timing.prompt_tokens)
        self._tokens.labels("cached", model).inc(timing.cached_tokens)
        self._tokens.labels("output", model).inc(timing.output_tokens)

    def _called(self, call: Call) -> None:
        outcome = "ok" if call.error is None else type(call.error).__name__
        self._calls.labels(call.platform, call.kind, outcome).inc()
        self._call.labels(call.platform, call.kind).observe(call.seconds)
        if isinstance(call.error, Limited):
            self._waits.labels(call.platform).observe(call.error.retry_after)


class State:
    """The gauges: what is read when somebody asks."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, about: str, *labels: str) -> Gauge:
            return Gauge(f"clawdbot_{name}", about, labels, registry=registry)

        self._ready = gauge("ready", "1 when the default model's engine is ready and all platforms are connected.")
        self._engine = gauge("engine_ready", "1 when the engine is ready.", "model")
        about = "1 for the engine that runs or ran last."
        self._info = gauge("engine_info", about, "model", "runs", "device", "version")
        self._connected = gauge("platform_connected", "1 when people there are heard.", "platform")
        self._under_way = gauge("answers_under_way", "Answers being made, waiting, or being delivered.")
        self._waiting = gauge("queue_depth", "Questions that wait for a place in the engine.", "model")
        self._inside = gauge("engine_answers", "Answers in the engine.", "model")
        self._reading = gauge("engine_long_prompts", "Long prompts that the engine is reading.", "model")
        self._cpu = gauge("cpu_cores", "Cores kept busy by the bot and its children.")
        self._memory = gauge("memory_bytes", "Memory held by the bot and its children.")
        self._gpu_busy = gauge("gpu_busy_ratio", "Share of time in which a kernel ran.", "gpu")
        self._gpu_used = gauge("gpu_memory_used_bytes", "Memory used on the GPU, by all programs.", "gpu")
        self._gpu_total = gauge("gpu_memory_total_bytes", "Memory of the GPU.", "gpu")

    def take(self, readings: Readings, gauges: Gauges) -> None:
        """Set them all."""
        self._ready.set(not readings.troubles)
        self._info.clear()
        for model in readings.models:
            self._model(model)
        for platform, connected in readings.connected.items():
            self._connected.labels(platform).set(connected)
        self._under_way.set(readings.answers)
        self._cpu.set(gauges.cpu)
        self._memory.set(gauges.memory)
        for number, gpu in enumerate(gauges.gpus):
            self._gpu_busy.labels(str(number)).set(gpu.busy)
            self._gpu_used.labels(str(number)).set(gpu.memory_used)
            self._gpu_total.labels(str(number)).set(gpu.memory_total)

    def _model(self, model: ModelReading) -> None:
        self._engine.labels(model.name).set(model.ready)
        self._waiting.labels(model.name).set(model.depth.waiting)
        self._inside.labels(model.name).set(model.depth.inside)
        self._reading.labels(model.name).set(model.depth.reading)
        if info := model.engine:
            self._info.labels(model.name, info.model, info.device, info.version).set(1)
