"""``deploy/compose.yaml``, by Docker Compose's own reading, and what its services are given."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from clawdbot.engine.vllm import SHUTDOWN
from clawdbot.sessions.sessions import LAST_WORDS
from clawdbot.settings.config import OpsSettings, SessionSettings

from .composed import ROOT, composed, needs_compose

pytestmark = needs_compose

BOTS = ("clawdbot", "clawdbot-cpu", "clawdbot-remote")
WATCHING = ("prometheus", "grafana")


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The whole file."""
    return composed(tmp_path_factory.mktemp("compose"))


@pytest.fixture(scope="module")
def services(read: Mapping[str, Any]) -> Mapping[str, Any]:
    """Its services by name."""
    found: Mapping[str, Any] = read["services"]
    return found


def mounted(service: Mapping[str, Any]) -> dict[str, str]:
    """What lies where in it."""
    return {volume["target"]: volume["source"] for volume in service["volumes"]}


def test_every_service_is_known(services: Mapping[str, Any]) -> None:
    """One that is added here has to be looked at, too."""
    assert set(services) == {*BOTS, *WATCHING, "vllm"}


@pytest.mark.parametrize("name", [*BOTS, *WATCHING, "vllm"])
def test_every_service_is_shut_in(services: Mapping[str, Any], name: str) -> None:
    service = services[name]

    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["init"]
    assert not service.get("privileged")
    # vLLM's own image writes where it likes.
    assert service.get("read_only", False) is (name != "vllm")


@pytest.mark.parametrize("name", [*BOTS, *WATCHING, "vllm"])
def test_ports_are_for_this_machine_alone(services: Mapping[str, Any], name: str) -> None:
    assert {port["host_ip"] for port in services[name].get("ports", ())} <= {"127.0.0.1"}


@pytest.mark.parametrize("name", BOTS)
def test_the_bot_has_time_to_end(services: Mapping[str, Any], name: str) -> None:
    grace = float(services[name]["stop_grace_period"].removesuffix("s"))

    assert grace > SessionSettings().drain + LAST_WORDS + SHUTDOWN


@pytest.mark.parametrize("name", BOTS)
def test_all_that_is_written_has_a_place(services: Mapping[str, Any], name: str) -> None:
    """The root is read-only: homes and caches of all libraries lie in the volumes, the rest in memory."""
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    named = dict(re.findall(r"\b([A-Z_]+)=(/\S+)", image[image.index("AS base") :]))
    places = [volume["target"] for volume in services[name]["volumes"] if volume["type"] == "volume"]

    assert set(places) == {"/data", "/cache"}
    for variable in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "TRITON_CACHE_DIR", "MPLCONFIGDIR"):
        assert any(named[variable].startswith(place) for place in places), variable
    assert services[name]["tmpfs"] == ["/tmp:exec"]


def test_every_file_that_is_mounted_is_there(services: Mapping[str, Any]) -> None:
    """Docker would make a folder of that name. The token is made by whoever sets it up, and missed loudly."""
    missing = [
        volume
        for service in services.values()
        for volume in service.get("volumes", ())
        if volume["type"] == "bind" and not Path(volume["source"]).is_file()
    ]

    assert [Path(volume["source"]).name for volume in missing] == ["ops.token"]
    assert not missing[0]["bind"].get("create_host_path")


def test_prometheus_asks_whichever_bot_runs_and_loads_the_alerts(services: Mapping[str, Any]) -> None:
    prometheus = mounted(services["prometheus"])
    settings = yaml.safe_load(Path(prometheus["/etc/prometheus/prometheus.yml"]).read_text(encoding="utf-8"))
    (job,) = settings["scrape_configs"]

    assert job["static_configs"] == [{"targets": [f"bot:{OpsSettings().port}"]}]
    assert all("bot" in services[name]["networks"]["default"]["aliases"] for name in BOTS)
    # What stands there without a folder lies beside the configuration.
    for name in (*settings["rule_files"], job["authorization"]["credentials_file"]):
        assert f"/etc/prometheus/{name}" in prometheus


def test_grafana_finds_prometheus_and_the_dashboard(services: Mapping[str, Any]) -> None:
    grafana = mounted(services["grafana"])
    folder = "/etc/grafana/provisioning"
    source = yaml.safe_load(Path(grafana[f"{folder}/datasources/clawdbot.yml"]).read_text(encoding="utf-8"))
    provider = yaml.safe_load(Path(grafana[f"{folder}/dashboards/clawdbot.yml"]).read_text(encoding="utf-8"))

    assert [(one["type"], one["url"]) for one in source["datasources"]] == [("prometheus", "http://prometheus:9090")]
    (path,) = [one["options"]["path"] for one in provider["providers"]]
    assert Path(grafana[f"{path}/clawdbot.json"]).name == "grafana.json"


def test_no_service_has_a_token_that_is_not_its_own(services: Mapping[str, Any]) -> None:
    with_tokens = {
        name for name, service in services.items() if any("TOKEN" in one for one in service.get("environment", {}))
    }

    assert with_tokens == set(BOTS)
