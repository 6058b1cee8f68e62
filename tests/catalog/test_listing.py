from __future__ import annotations

import json

from workbench.catalog import Catalog
from workbench.catalog.listing import list_operators


def row(catalog: Catalog, name: str) -> str:
    lines = list_operators(catalog).splitlines()
    return next(line for line in lines if line.split(" ", 1)[0] == name)


def test_the_table_has_a_line_for_each_operator(catalog: Catalog) -> None:
    head, *lines = list_operators(catalog).splitlines()
    assert head.split() == ["operator", "category", "devices", "arguments", "usable"]
    assert {line.split(" ", 1)[0] for line in lines[:-2]} == set(catalog)
    usable = sum(op.unusable is None for op in catalog.values())
    assert lines[-1] == (
        f"{len(catalog)} operators of DALI {catalog.dali_version}, {usable} usable."
    )


def test_a_line_says_whether_it_can_be_used_or_why_not(catalog: Catalog) -> None:
    assert row(catalog, "rotate").split()[1:] == ["geometry", "cpu", "gpu", "9", "yes"]
    assert row(catalog, "jitter").endswith("yes, on a GPU")
    assert row(catalog, "debayer").endswith(f"no: {catalog['debayer'].unusable}")


def test_the_json_holds_everything(catalog: Catalog) -> None:
    document = json.loads(list_operators(catalog, as_json=True))
    assert document["dali"] == catalog.dali_version
    operators = {op["name"]: op for op in document["operators"]}
    assert set(operators) == set(catalog)
    angle = operators["rotate"]["args"]["angle"]
    assert angle["required"] is True
    assert angle["start"] == catalog["rotate"].args["angle"].start
    jpegs = operators["readers.file"]["outputs"][0]
    assert (jpegs["name"], jpegs["kind"], jpegs["gives"]["dtype"]) == ("jpegs", "encoded", "UINT8")
    assert operators["debayer"]["unusable"]
