"""Results as documents: text, HTML, data frame and files."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from workbench.errors import DataError
from workbench.results import (
    MOST_RESULTS,
    ResultDocument,
    ResultPicture,
    ResultTable,
    load_result,
    on_result,
    record_result,
    recorded_results,
)


def png() -> bytes:
    written = io.BytesIO()
    Image.new("RGB", (4, 3), "red").save(written, "PNG")
    return written.getvalue()


DOCUMENT = ResultDocument(
    "watch",
    "Training loop <1>",
    ("The loader is the limit.", "An epoch takes 44 min."),
    (ResultTable("Times", ("part", "ms"), (("wait", 12.34567), ("step", None), ("copy", 3))),),
    (ResultPicture("a & b", png()),),
)


def test_text_and_html_show_the_same_document() -> None:
    assert DOCUMENT.lines() == [
        "Training loop <1>",
        "  The loader is the limit.",
        "  An epoch takes 44 min.",
        "",
        "Times",
        "  part  ms",
        "  wait  12.35",
        "  step  –",
        "  copy  3",
    ]
    html = DOCUMENT._repr_html_()
    assert "Training loop &lt;1&gt;" in html
    assert "<td>12.35</td>" in html
    assert "data:image/png;base64," in html
    assert "a &amp; b" in html


def test_long_tables_are_cut_and_say_so() -> None:
    table = ResultTable("", ("n",), tuple((n,) for n in range(100)))
    cut = replace(DOCUMENT, tables=(table,))
    assert cut.lines()[-1].strip() == "and 40 more rows"
    assert "and 40 more rows" in cut._repr_html_()
    assert len(cut.to_frame()) == 100


def test_a_notebook_output_has_a_limited_size() -> None:
    html = replace(
        DOCUMENT, pictures=100 * (ResultPicture("a", png() + bytes(2000)),)
    )._repr_html_()
    assert len(html) < 100_000
    assert f"and {100 - html.count('<img ')} more pictures in result.document()" in html


def test_a_file_holds_the_whole_document(tmp_path: Path) -> None:
    assert load_result(DOCUMENT.save(tmp_path / "a.json")) == DOCUMENT


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "graph"}, "but this workbench reads"),
        ({"version": 2}, "version 2"),
        ({"sentences": None}, "damaged"),
        ({"tables": [{"title": "", "columns": ["a"], "rows": [[1, 2]]}]}, "damaged"),
        ({"tables": [{"title": "", "columns": ["a"], "rows": [[{}]]}]}, "damaged"),
        ({"pictures": [{"caption": "", "data": "%"}]}, "damaged"),
    ],
)
def test_other_files_are_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({**DOCUMENT.to_json(), **change}))
    with pytest.raises(DataError, match=message):
        load_result(path)


@pytest.mark.parametrize("text", ["", "[]", "\x00"])
def test_what_is_not_json_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(DataError, match=r"a\.json"):
        load_result(tmp_path / "a.json")


def test_results_are_remembered_up_to_a_limit_and_listeners_are_called() -> None:
    seen: list[ResultDocument] = []
    end = on_result(seen.append)
    for _ in range(MOST_RESULTS + 1):
        record_result(DOCUMENT)
    end()
    record_result(DOCUMENT)
    assert len(seen) == MOST_RESULTS + 1
    assert recorded_results() == MOST_RESULTS * (DOCUMENT,)
