"""How full engines, cores and bus were, and where they end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.bench.fakes import measured
from workbench.bench.experiments.tune import BUS, CORES, ENGINES, headroom_of


def test_the_fullest_resource_is_the_limit() -> None:
    row = replace(measured(30_000.0, device="mixed"), jpeg_busy=75.0, bus_busy=30.0)
    found = headroom_of(row, cores=16)  # 1.5 cores are busy in the fakes
    assert found is not None
    assert [each.name for each in found.resources] == [CORES, ENGINES, BUS]
    assert found.fullest == found.resources[1]
    assert found.limit == pytest.approx(40_000, rel=0.001)
    assert not found.exhausted
    assert "cores 9%; JPEG engines 75%; bus 30%" in found.words()
    assert "The JPEG engines end at 40,000 imgs/s, of which 75% are reached" in found.words()


def test_without_nvml_it_says_that_it_is_not_known() -> None:
    found = headroom_of(measured(30_000.0, device="mixed"), cores=16)
    assert found is not None
    assert found.limit is None
    assert "JPEG engines: not known (NVML does not tell)" in found.words()
    assert found.words().endswith("The physical limit is not known")


@pytest.mark.parametrize(("jpeg", "bus", "end"), [(97.0, 10.0, True), (50.0, 99.0, True),
                                                  (96.0, 96.0, False)])  # fmt: skip
def test_nothing_brings_more_where_engines_or_bus_are_full(
    jpeg: float, bus: float, end: bool
) -> None:
    row = replace(measured(40_000.0, device="mixed"), jpeg_busy=jpeg, bus_busy=bus)
    found = headroom_of(row, cores=16)
    assert found is not None
    assert found.exhausted is end


def test_full_cores_do_not_say_that_nothing_brings_more() -> None:
    """Another batch size may make an image cheaper."""
    found = headroom_of(measured(1000.0), cores=1)
    assert found is not None
    assert found.resources[0].busy == 1.0
    assert not found.exhausted
    assert headroom_of(replace(measured(1.0), rounds=()), 2) is None
