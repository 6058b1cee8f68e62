"""What of the records is the speed of this very graph, here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.bench.fakes import MACHINE, measured, report, rounds
from workbench.bench import Report
from workbench.bench.measuring.config import config_of
from workbench.bench.records.context import graph_hash
from workbench.bench.records.record import WHOLE
from workbench.graph import load_recipe
from workbench.ui.contract.status_views import LastSpeed
from workbench.ui.speed.last_speeds import last_speeds

GRAPH = load_recipe("imagenet-train")
SHA = graph_hash(GRAPH)
OWN = config_of(GRAPH)


def made(*rows: Any, **fields: Any) -> Report:
    return report(*rows, **{"context": {"graph_sha256": SHA}, "created": "2026-11-22", **fields})


def found(*records: Report) -> list[LastSpeed]:
    return last_speeds(records, GRAPH, "photos", MACHINE, lambda: SHA)


def test_the_newest_of_each_device_with_its_settings() -> None:
    new = made(measured(100.0, device="cpu", threads=2, batch_size=16))
    old = made(measured(900.0, device="mixed"), measured(90.0, device="cpu"), created="2026-11-20")
    mixed, cpu = found(new, old)
    assert (mixed["device"], mixed["rate"], mixed["when"]) == ("mixed", 900.0, "2026-11-20")
    assert (cpu["rate"], cpu["settings"]) == (100.0, "batch 16 · 2 threads · prefetch 2")
    assert not cpu["unstable"]


@pytest.mark.parametrize(
    "other",
    [
        {"context": {"graph_sha256": "0" * 64}},
        {"context": {}},
        {"graph": "another"},
        {"data": "elsewhere"},
        {"machine": replace(MACHINE, cpu="Another")},
        {"machine": replace(MACHINE, dali="1.0")},
        {"kind": "tune"},
        {"kind": "workers"},
    ],
    ids=str,
)
def test_what_is_not_of_this_graph_here_says_nothing(other: dict[str, Any]) -> None:
    mine = made(measured(100.0, threads=OWN.threads + 7))
    assert found(mine)
    assert found(replace(mine, **other)) == []


@pytest.mark.parametrize("kind", ["tune", "sweep", "threads"])
def test_of_many_settings_only_the_present_ones_count(kind: str) -> None:
    here = replace(measured(100.0, "as it is"), config=OWN)
    elsewhere = replace(here, config=replace(OWN, batch_size=OWN.batch_size + 1))
    assert found(made(elsewhere, kind=kind)) == []
    (one,) = found(made(elsewhere, here, kind=kind))
    assert one["rate"] == 100.0


def test_of_stages_the_whole_counts_and_of_decoding_alone_nothing() -> None:
    part, whole = measured(900.0, "up to decode"), measured(100.0, WHOLE)
    (one,) = found(made(part, whole, kind="stages"))
    assert one["rate"] == 100.0
    assert found(made(measured(900.0, regime="decode"))) == []
    assert found(made(measured(900.0, program="torchvision"))) == []


def test_an_unstable_one_is_marked() -> None:
    (one,) = found(made(replace(measured(100.0), rounds=rounds(10, 100, 300))))
    assert one["unstable"]


def test_the_hash_is_asked_for_only_where_it_may_matter() -> None:
    def never() -> str:
        raise AssertionError

    other = replace(made(measured(100.0)), graph="another")
    assert last_speeds([other], GRAPH, "photos", MACHINE, never) == []
