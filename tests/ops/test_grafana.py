"""The dashboard by Grafana's own schema, which its foundation SDK is generated from."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models import units
from grafana_foundation_sdk.models.dashboard import Dashboard, Panel
from grafana_foundation_sdk.models.prometheus import Dataquery

DEPLOY = Path(__file__).parents[2] / "deploy"


@pytest.fixture(scope="module")
def written() -> Any:
    """The dashboard's file."""
    return json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def read(written: Any) -> Dashboard:
    """The same as Grafana's types hold it: panels and queries of every kind are known."""
    register_default_plugins()
    return Dashboard.from_json(written)


def lost(written: Any, kept: Any, path: str = "") -> Iterator[str]:
    """Where something that was written is not what Grafana keeps of it."""
    if isinstance(written, dict):
        for key, value in written.items():
            yield from lost(value, kept.get(key) if isinstance(kept, dict) else None, f"{path}.{key}")
    elif isinstance(written, list) and isinstance(kept, list) and len(written) == len(kept):
        for number, (one, other) in enumerate(zip(written, kept, strict=True)):
            yield from lost(one, other, f"{path}[{number}]")
    elif written != kept:
        yield path


def test_grafana_knows_all_that_is_written(written: Any, read: Dashboard) -> None:
    """A key that it does not know is passed over in silence: a typing mistake would cost a panel its unit or query."""
    assert list(lost(written, json.loads(JSONEncoder().encode(read)))) == []


def test_the_schema_would_notice_a_slip(written: Any) -> None:
    slips = json.loads(json.dumps(written))
    slips["panels"][1]["targets"][0]["exprr"] = "up"
    slips["panels"][6]["fieldConfig"]["defaults"]["custom"] = {"lineWidht": 2}
    slips["refrehs"] = "30s"
    register_default_plugins()

    kept = json.loads(JSONEncoder().encode(Dashboard.from_json(slips)))
    assert [path.rpartition(".")[2] for path in lost(slips, kept)] == ["exprr", "lineWidht", "refrehs"]


def test_every_query_is_one_for_prometheus_and_every_unit_is_one_of_grafanas(read: Dashboard) -> None:
    known = {value for name, value in vars(units).items() if isinstance(value, str) and not name.startswith("_")}
    panels = [panel for panel in read.panels or () if isinstance(panel, Panel)]
    drawn = {panel.field_config.defaults.unit for panel in panels if panel.field_config}

    assert {type(query) for panel in panels for query in panel.targets or ()} == {Dataquery}
    assert drawn <= known


def test_panels_have_numbers_of_their_own_and_lie_beside_each_other(written: Any) -> None:
    """Grafana's grid is 24 wide; panels that overlap are pushed to somewhere else."""
    places = [panel["gridPos"] for panel in written["panels"]]
    cells = [(place["x"] + x, place["y"] + y) for place in places for x in range(place["w"]) for y in range(place["h"])]

    assert len({panel["id"] for panel in written["panels"]}) == len(places)
    assert len(set(cells)) == len(cells)
    assert {x for x, _ in cells} == set(range(24))
