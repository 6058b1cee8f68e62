"""Many flags, few causes."""

from __future__ import annotations

from dataclasses import replace

from tests.bench.fakes import measured
from workbench.bench.records.report_text import quality_flags


def test_flags_of_one_cause_are_one_line() -> None:
    words = "the machine was loaded: something else kept {} of 2 cores busy"
    names = ("a", "b", "c")
    rows = [
        replace(measured(100.0), label=name, flags=(words.format(cores),))
        for name, cores in zip(names, (0.7, 1.2, 0.9), strict=True)
    ]
    calm = replace(measured(100.0), label="d")
    assert quality_flags([*rows, calm]) == ["3 of 4 figures: " + words.format("0.7 … 1.2")]


def test_a_flag_of_one_row_names_it() -> None:
    flag = "unstable: the rounds differ by more than 10 %"
    row = replace(measured(100.0), flags=(flag,))
    assert quality_flags([row, measured(90.0)]) == [f"cpu, pipeline: {flag}"]
    assert quality_flags([]) == []
