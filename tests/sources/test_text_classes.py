"""Labels that are texts: tables number them by their order, and keep the names, as folders do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import script_batches
from tests.sources.in_memory import COUNT, PIXELS, a_graph, png
from workbench.engine import Engine
from workbench.health import scan_folder
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.verify import Verifier
from workbench.sources import class_names, list_samples, open_dataset
from workbench.sources.kinds.memory import open_images, split_row
from workbench.sources.tables import NumberedClasses

NAMES = ["bird", "cat", "dog"]
TEXTS = [NAMES[2 - number % 3] for number in range(COUNT)]
NUMBERS = [2 - number % 3 for number in range(COUNT)]
COLUMNS: dict[str, list[Any]] = {"image": [png(each) for each in PIXELS], "Label": TEXTS}


def arrow() -> Any:
    return pytest.importorskip("pyarrow").table(COLUMNS)


def dictionary() -> Any:
    pyarrow = pytest.importorskip("pyarrow")
    texts = pyarrow.array(TEXTS).dictionary_encode()
    return pyarrow.table({"image": COLUMNS["image"], "label": texts})


def pandas(kind: str = "object") -> Any:
    frame = pytest.importorskip("pandas").DataFrame(COLUMNS)
    return frame.astype({"Label": kind})


def polars() -> Any:
    return pytest.importorskip("polars").DataFrame(COLUMNS)


def hugging_face() -> Any:
    return pytest.importorskip("datasets").Dataset.from_dict(COLUMNS)


FORMS: dict[str, Callable[[], Any]] = {
    "Arrow": arrow,
    "Arrow, by dictionary": dictionary,
    "pandas": pandas,
    "pandas, categories": lambda: pandas("category"),
    "Polars": polars,
    "Hugging Face": hugging_face,
}


@pytest.mark.parametrize("form", sorted(FORMS))
def test_texts_of_a_table_are_classes_by_name(form: str, engine: Engine) -> None:
    dataset = open_dataset(FORMS[form]())
    assert class_names(dataset) == NAMES
    assert {each.label for each in list_samples(dataset)} <= {*NUMBERS, -1}
    preview = preview_batch(engine, PreviewRequest(a_graph(dataset), dataset, tiles=4))
    assert not preview.note
    rows = open_images(FORMS[form]())
    assert [split_row(rows[at])[1] for at in range(COUNT)] == NUMBERS
    counted = scan_folder(dataset).class_counts
    assert counted == {name: TEXTS.count(name) for name in NAMES}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_order_of_categories_numbers_the_classes(library: str) -> None:
    module = pytest.importorskip(library)
    order = ["dog", "emu", "cat", "bird"]
    kind = module.CategoricalDtype(order) if library == "pandas" else module.Enum(order)
    columns = {"image": COLUMNS["image"]}
    frame = module.DataFrame({**columns, "label": module.Series(TEXTS, dtype=kind)})
    dataset = open_dataset(frame)
    assert class_names(dataset) == order
    wanted = [order.index(text) for text in TEXTS]
    rows = open_images(frame)
    assert [split_row(rows[at])[1] for at in range(COUNT)] == wanted
    assert [each.label for each in list_samples(dataset)] == wanted
    assert scan_folder(dataset).class_counts["emu"] == 0


def test_a_parquet_file_keeps_them_too(tmp_path: Path, engine: Engine) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    images = [{"bytes": each, "path": "a.png"} for each in COLUMNS["image"]]
    rest = {"label": TEXTS, "caption": TEXTS}
    parquet.write_table(pyarrow.table({"image": images, **rest}), tmp_path / "photos.parquet")
    path = str(tmp_path / "photos.parquet")
    assert class_names(open_dataset(path)) == NAMES
    assert scan_folder(path).classes == tuple(NAMES)
    told = Verifier(a_graph(path), path, 2, engine=engine).run()
    assert told.exact, told.lines()
    graph = a_graph(path, shuffled=False)
    (batch,) = script_batches(graph, path, 1, tmp_path)
    labels = batch[list(graph.outputs).index("labels")]
    assert [int(label.item()) for label in labels] == NUMBERS[: len(labels)]
    rows = open_images(path)
    assert rows[0].keys() == {"image", "label"}


def test_a_label_that_is_missing_is_that_sample_s_fault() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"image": COLUMNS["image"][:3], "label": ["dog", None, "cat"]})
    rows = open_images(table)
    assert split_row(rows[0])[1] == 1
    with pytest.raises(ValueError, match="its label is 'None': number the classes"):
        split_row(rows[1])
    dataset = open_dataset(table)
    assert class_names(dataset) == ["cat", "dog"]
    assert [each.label for each in list_samples(dataset)] == [1, -1, 0]


def test_numbers_stay_as_they_are() -> None:
    """Written as texts they are themselves, as in a list of files."""
    pyarrow = pytest.importorskip("pyarrow")
    digits = pyarrow.table({"image": COLUMNS["image"][:3], "label": ["10", "9", "007"]})
    assert [split_row(row)[1] for row in open_images(digits).__getitems__(range(3))] == [10, 9, 7]
    assert class_names(open_dataset(digits)) == []
    table = pyarrow.table({"image": COLUMNS["image"], "label": NUMBERS})
    assert not isinstance(open_images(table), NumberedClasses)
    assert class_names(open_dataset(table)) == []
    assert not isinstance(open_images(table.select(["image"])), NumberedClasses)
