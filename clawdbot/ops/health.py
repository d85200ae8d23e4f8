"""What programs ask of the bot: is it alive, is it ready, what are its figures."""

import asyncio
from collections.abc import Callable

from aiohttp import web

from clawdbot.ops.meter import Meter
from clawdbot.ops.metrics import CONTENT_TYPE, Metrics
from clawdbot.ops.readings import Readings

PATHS = frozenset({"/healthz", "/readyz", "/metrics"})


class Health:
    """Answers them; ``read`` takes the readings of the moment."""

    def __init__(self, metrics: Metrics, meter: Meter, read: Callable[[], Readings]) -> None:
        self._metrics = metrics
        self._meter = meter
        self._read = read

    def routes(self) -> list[web.RouteDef]:
        """Where each is answered."""
        return [
            web.get("/healthz", self.alive),
            web.get("/readyz", self.ready),
            web.get("/metrics", self.metrics),
        ]

    async def alive(self, request: web.Request) -> web.Response:
        """The event loop answers: that is all. A bot whose platforms are out of reach needs no restart."""
        return web.Response(text="alive\n")

    async def ready(self, request: web.Request) -> web.Response:
        """200 when an answer can be counted on, else 503; the reasons either way."""
        readings = self._read()
        told = {
            "ready": not readings.troubles,
            "reasons": readings.troubles,
            "engine": readings.default.ready,
            "models": {model.name: model.phase.value for model in readings.models},
            "platforms": dict(readings.connected),
        }
        return web.json_response(told, status=503 if readings.troubles else 200)

    async def metrics(self, request: web.Request) -> web.Response:
        """All metrics as Prometheus reads them."""
        readings = self._read()

        def text() -> bytes:
            return self._metrics.render(readings, self._meter.read())

        return web.Response(body=await asyncio.to_thread(text), headers={"Content-Type": CONTENT_TYPE})
