"""Gauges: their values, what a node offers to Prometheus, and the panels that draw them."""

from __future__ import annotations

import json
import re
import threading
import urllib.request
from typing import Any

import pytest

from flows.gauges import COLLECTED, GAUGES, PACE_SECONDS, PREFIX, StepsPerSecond, published, values
from flows.progress import Progress
from infra.runtime import quieten
from infra.workers import running_workers
from tests.processes import wait_until
from tests.tree import ROOT

PANELS = json.loads((ROOT / "infra" / "deploy" / "grafana.json").read_text(encoding="utf-8"))
QUERY = {"type": "object", "required": ["refId", "expr", "legendFormat", "datasource"]}
PLACE = {"type": "integer", "minimum": 0, "maximum": 24}
PANEL = {
    "type": "object",
    "required": ["id", "title", "description", "type", "datasource", "gridPos", "targets"],
    "properties": {
        "type": {"enum": ["stat", "timeseries"]},
        "datasource": {"const": {"type": "prometheus", "uid": "${source}"}},
        "gridPos": {"required": ["x", "y", "w", "h"], "additionalProperties": PLACE},
        "targets": {"type": "array", "minItems": 1, "items": QUERY},
    },
}


def a_study() -> Progress:
    """Ten models to train, and two more that wait to be scored; a step is a second."""
    progress = Progress({"train": 10, "score": 12}, cells=1, steps=1000)
    for _ in range(4):
        progress.add("train", "trained", steps=100)
    progress.add("train", "diverged", steps=50)
    progress.drop("score")
    progress.add("score")
    return progress


def test_values_follow_from_the_counts() -> None:
    assert values(a_study(), 3.5) == {
        "tolstoy_models_trained": 4,
        "tolstoy_models_failed": 1,
        "tolstoy_models_left": 5,
        "tolstoy_models_scored": 1,
        "tolstoy_scores_waiting": 2 + 4 - 1,
        "tolstoy_steps_per_second": 3.5,
    }


def test_a_study_without_scores_has_none_waiting() -> None:
    progress = Progress({"train": 3, "score": 0}, cells=1)
    progress.add("train", "trained")
    assert values(progress, 0.0)["tolstoy_scores_waiting"] == 0


def test_the_pace_is_that_of_the_last_minute() -> None:
    now = [0.0]
    pace = StepsPerSecond(clock=lambda: now[0])
    assert pace.of(0) == 0.0
    paces = []
    for second in range(1, 301):  # 2 steps a second, and after two minutes 8
        now[0] = float(second)
        paces.append(pace.of(2 * second + 6 * max(0, second - 120)))
    assert paces[119] == pytest.approx(2)
    assert paces[120 + round(PACE_SECONDS / 2)] == pytest.approx(5, abs=0.2)
    assert paces[-1] == pytest.approx(8)
    now[0] = 301.0
    assert pace.of(0) == 0.0, "steps of a damaged model that is trained again do not count as less"


def offered(address: str, port: int) -> dict[str, tuple[str, float]]:
    """The gauges that a node offers: by name, the study and the value."""
    with urllib.request.urlopen(f"http://{address}:{port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    found = [re.fullmatch(r'(\w+)\{.*study="([^"]*)".*\} (\S+)', line) for line in lines]
    return {row[1]: (row[2], float(row[3])) for row in found if row and "tolstoy" in row[1]}


@pytest.mark.slow
def test_a_node_offers_them_to_prometheus(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    quieten()
    monkeypatch.setenv("RAY_metrics_report_interval_ms", "500")
    progress = a_study()
    with running_workers(count=1):
        (node,) = ray.nodes()
        place = node["NodeManagerAddress"], node["MetricsExportPort"]
        with published(progress, "mine", every=0.2):
            wait_until(lambda: len(offered(*place)) == len(GAUGES), 60)
            assert offered(*place)["ray_tolstoy_models_trained"] == ("mine", 4)
            assert offered(*place)["ray_tolstoy_scores_waiting"] == ("mine", 5)
            progress.add("score")
            wait_until(lambda: offered(*place)["ray_tolstoy_scores_waiting"] == ("mine", 4), 60)
        wait_until(lambda: offered(*place)["ray_tolstoy_steps_per_second"] == ("mine", 0), 60)
        assert offered(*place).keys() == {PREFIX + name for name in GAUGES}


def test_nothing_is_made_where_ray_collects_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COLLECTED, "0")
    monkeypatch.setattr("ray.util.metrics.Gauge", None)
    threads = threading.active_count()
    with published(a_study(), "mine"):
        assert threading.active_count() == threads


def test_the_panels_are_what_grafana_reads() -> None:
    from jsonschema import validate

    validate(PANELS["panels"], {"type": "array", "minItems": 4, "items": PANEL})
    ids = [panel["id"] for panel in PANELS["panels"]]
    assert len(ids) == len(set(ids))
    taken: set[tuple[int, int]] = set()
    for panel in PANELS["panels"]:
        place: dict[str, Any] = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not taken & cells, f"{panel['title']} lies on another panel"
        assert max(x for x, _ in cells) < 24, "the width of Grafana's page"
        taken |= cells
    variables = {variable["name"] for variable in PANELS["templating"]["list"]}
    assert set(re.findall(r"\$\{?(\w+)", json.dumps(PANELS))) == variables


def test_every_query_names_a_gauge_that_exists_and_every_gauge_is_drawn() -> None:
    queries = [query["expr"] for panel in PANELS["panels"] for query in panel["targets"]]
    named = [set(re.findall(r"\bray_\w+", query)) for query in queries]
    assert all(len(names) == 1 for names in named), "each draws one gauge"
    assert set().union(*named) == {PREFIX + name for name in GAUGES}
    (study,) = (v["query"] for v in PANELS["templating"]["list"] if v["type"] == "query")
    assert set(re.findall(r"\bray_\w+", study)) <= {PREFIX + name for name in GAUGES}
    assert all('{study=~"$study"}' in query for query in queries)
