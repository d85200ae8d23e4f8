"""Dashboard and alert rules, loaded and queried by a real Prometheus where one is installed."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from clawdbot.app import open_app
from clawdbot.clock import SystemClock
from clawdbot.ops.gauges import Gauges, Gpu
from clawdbot.ops.metrics import Metrics
from clawdbot.ops.watch import Watch
from clawdbot.settings.config import OpsSettings, Settings, StoreSettings
from clawdbot.testing.engine import ScriptedEngine, opened
from clawdbot.testing.rig import Rig, echo
from clawdbot.testing.waiting import polled

from .hour import VLLM, an_hour
from .hour import answer as answers
from .prometheus import needs_prometheus, prometheus, promtool
from .test_metrics import READY

DEPLOY = Path(__file__).parents[2] / "deploy"
DASHBOARD, ALERTS = DEPLOY / "grafana.json", DEPLOY / "alerts.yml"
CASES = Path(__file__).parent / "alerts_test.yml"

TOKEN = "a-token-of-the-owner"

RATE = "5m"
"""What Grafana puts in place of $__rate_interval."""


def queries() -> list[tuple[str, str]]:
    """Every query of the dashboard with its panel's title."""
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return [(panel["title"], target["expr"]) for panel in panels for target in panel.get("targets", ())]


def exported() -> set[str]:
    """The names of all metrics that there are, vLLM's included."""
    text = Metrics().render(READY, Gauges((Gpu("a GPU", 0, 0, 0),), 0, 0)).decode()
    text += VLLM.read_text(encoding="utf-8")
    families = text_string_to_metric_families(text)
    return {name for found in families for name in (found.name, *(f"{found.name}{end}" for end in ENDS[found.type]))}


ENDS = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": (), "unknown": ()}


def test_dashboard_and_rules_know_no_metric_that_there_is_not() -> None:
    """A metric that was renamed leaves an empty panel and an alert that never fires."""
    written = "\n".join([ALERTS.read_text(encoding="utf-8"), *(expression for _, expression in queries())])
    used = set(re.findall(r"\b(?:clawdbot_|vllm:)\w+", written))

    assert used - exported() == set()


def test_every_alert_has_a_case_in_which_it_fires() -> None:
    alerts = re.findall(r"- alert: (\w+)", ALERTS.read_text(encoding="utf-8"))
    cases = CASES.read_text(encoding="utf-8")
    expected = re.findall(r"alertname: (\w+)\n\s+exp_alerts:(.*)", cases)
    fire = {name for name, what in expected if "[]" not in what}

    assert set(alerts) == fire


@needs_prometheus
@pytest.mark.parametrize("written", ["prometheus.yml", "monitoring/prometheus.yml"])
def test_configuration_and_rules_are_sound(tmp_path: Path, written: str) -> None:
    for name in ("alerts.yml", written):
        shutil.copy(DEPLOY / name, tmp_path)
    (tmp_path / "clawdbot.token").write_text(TOKEN, encoding="utf-8")

    told = promtool("check", "config", str(tmp_path / "prometheus.yml"))
    assert "SUCCESS: 1 rule files found" in told


@needs_prometheus
def test_alerts_fire_when_they_should_and_not_before() -> None:
    assert "SUCCESS" in promtool("test", "rules", str(CASES))


@needs_prometheus
async def test_every_query_of_the_dashboard_has_data_after_an_hour(rig: Callable[..., Rig], tmp_path: Path) -> None:
    bot = rig(answers)
    scraped = tmp_path / "scraped.txt"
    scraped.write_text("\n".join(await an_hour(bot)) + "\n", encoding="utf-8")
    promtool("tsdb", "create-blocks-from", "openmetrics", str(scraped), str(tmp_path / "data"))
    (tmp_path / "prometheus.yml").write_text("", encoding="utf-8")

    async with prometheus(tmp_path / "prometheus.yml", tmp_path / "data") as running:
        now = bot.clock.wall()
        found = {
            f"{title}: {query}": await running.query(query.replace("$__rate_interval", RATE), now)
            for title, query in queries()
        }

    assert [panel for panel, series in found.items() if not series] == []
    assert [panel for panel, series in found.items() if any(one["value"][1] == "NaN" for one in series)] == []


@needs_prometheus
@pytest.mark.parametrize(
    ("name", "token", "target"),
    [("prometheus.yml", None, "127.0.0.1:9464"), ("monitoring/prometheus.yml", SecretStr(TOKEN), "bot:9464")],
)
async def test_a_running_bot_is_scraped_and_its_rules_are_quiet(
    tmp_path: Path, name: str, token: SecretStr | None, target: str
) -> None:
    """Beside the bot without a token, and from another container with one."""
    clock = SystemClock()
    watch = Watch(OpsSettings(port=0, token=token), clock)
    (tmp_path / "clawdbot.token").write_text(TOKEN, encoding="utf-8")
    settings = Settings(store=StoreSettings(path=tmp_path / "clawdbot.sqlite3"))
    async with (
        open_app(settings, lambda: opened(ScriptedEngine(echo, clock)), clock, watch.observe) as app,
        watch.open(app, {}) as address,
    ):
        await app.host.engine()
        written = (DEPLOY / name).read_text(encoding="utf-8")
        written = written.replace(target, address.removeprefix("http://")).replace("15s", "1s")
        (tmp_path / "prometheus.yml").write_text(written.replace("alerts.yml", str(ALERTS)), encoding="utf-8")
        async with prometheus(tmp_path / "prometheus.yml", tmp_path / "data") as running:
            ready = await polled(lambda: running.query("clawdbot_ready"))  # it scrapes by its own clock
            up, alerts = await running.query('up{job="clawdbot"}'), await running.query("ALERTS")

    assert [one["value"][1] for one in (*ready, *up)] == ["1", "1"]
    assert alerts == []
