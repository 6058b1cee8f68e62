"""Parquet files and tables of Arrow: which columns are read, and without copies."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from tests.sources.in_memory import COUNT, PIXELS, png
from tests.sources.written import write_parquet
from workbench.errors import DataError
from workbench.sources import list_samples, open_dataset, require_dataset
from workbench.sources.tables import TableRows


def test_a_parquet_file_shows_no_other_file(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    (tmp_path / "secret.png").write_bytes(png(PIXELS[0]))
    rows = [{"bytes": None, "path": str(tmp_path / "secret.png")}]
    parquet.write_table(pyarrow.table({"image": rows}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a.parquet has image.bytes, image.path, and no column"):
        require_dataset(open_dataset(tmp_path / "a.parquet"))
    parquet.write_table(pyarrow.table({"image": ["/a.png"]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="has image, and no column of encoded images"):
        require_dataset(open_dataset(tmp_path / "a.parquet"))
    (tmp_path / "b.parquet").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"b.parquet cannot be read as Parquet"):
        require_dataset(open_dataset(tmp_path / "b.parquet"))
    whole = write_parquet([(png(each), 3) for each in PIXELS], tmp_path / "c")
    assert [each.label for each in list_samples(open_dataset(whole))] == [3] * COUNT


def test_bytes_of_a_table_are_not_copied() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    rows = [b"one", None, b"", b"three"]
    table = pyarrow.table({"image": rows, "more": ["a", "b", None, "c"], "label": range(4)})
    table = pyarrow.concat_tables([table.slice(2, 0), table.slice(1), table])
    for wide in (table, table.cast(table.schema.set(0, pyarrow.field("image", "large_binary")))):
        found = TableRows(wide)
        images = [row["image"] for row in found.__getitems__(range(len(found)))]
        wanted = [*rows[1:], *rows]
        assert [None if each is None else bytes(each) for each in images] == wanted
        assert np.shares_memory(found[3]["image"], found[3]["image"])
        assert found[4] == {"image": None, "more": "b", "label": 1}


def test_a_file_that_no_memory_holds_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_parquet([(png(each), 3) for each in PIXELS], tmp_path / "c")
    free = SimpleNamespace(available=2**14)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    with pytest.raises(DataError, match=r"GiB of memory.* Write it as a WebDataset"):
        require_dataset(open_dataset(path))
