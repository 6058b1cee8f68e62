"""Access to the rows of tables with images: Arrow, Polars, pandas and Parquet files.

The exported program has a copy of this code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import psutil

from workbench.errors import DataError


def label_column(names: Any) -> Any:
    """Return the name of the label column, ignoring case, or None if there is none."""
    known = {str(name).lower(): name for name in reversed([*names])}
    wanted = ("label", "class", "target", "category", "class_name")
    return next((known[name] for name in wanted if name in known), None)


def categories_of(column: Any) -> list[str]:
    """Return the categories of a pandas Categorical or Polars Enum in order, or an empty list."""
    names: Any = getattr(getattr(column, "dtype", None), "categories", None)
    texts = list(names.to_list()) if hasattr(names, "to_list") else []
    named = all(isinstance(text, str) for text in texts)
    return texts if named and not all(text.isdecimal() for text in texts) else []


class BytesColumn:
    """A bytes column of Arrow whose items are views of the table, not copies."""

    def __init__(self, column: Any) -> None:
        wide = "large" in str(column.type)
        chunks = [chunk for chunk in column.chunks if len(chunk)]
        self.column, self.ends = column, np.cumsum([len(chunk) for chunk in chunks])
        self.parts = []
        for chunk in chunks:
            _, offsets, content = chunk.buffers()
            places = np.frombuffer(offsets, np.int64 if wide else np.int32)[chunk.offset :]
            self.parts.append((places, np.frombuffer(content or b"", np.uint8)))

    def __getitem__(self, at: int) -> Any:
        if self.column.null_count and not self.column[at].is_valid:
            return None
        part = int(np.searchsorted(self.ends, at, "right"))
        places, content = self.parts[part]
        row = at - (int(self.ends[part - 1]) if part else 0)
        return content[places[row] : places[row + 1]]


class TableRows:
    """Rows of an Arrow, Polars or pandas table by index, as dictionaries."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.columns: dict[str, Any] = {}
        if hasattr(table, "itercolumns"):  # Arrow
            for name, column in zip(table.column_names, table.itercolumns(), strict=True):
                is_bytes = str(column.type) in ("binary", "large_binary")
                self.columns[name] = BytesColumn(column) if is_bytes else column

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, index: int) -> Any:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Any) -> Any:
        if hasattr(self.table, "iloc"):
            return self.table.iloc[indices].to_dict("records")
        if hasattr(self.table, "to_dicts"):
            return self.table[indices].to_dicts()
        rows = [{name: column[int(at)] for name, column in self.columns.items()} for at in indices]
        return [
            {name: each.as_py() if hasattr(each, "as_py") else each for name, each in row.items()}
            for row in rows
        ]


class RowsWithClassNumbers:
    """Rows of a table in which text labels are replaced by their index in ``texts``.

    If all texts are decimal numbers, labels are replaced by these numbers.
    """

    def __init__(self, rows: Any, column: Any, texts: Any) -> None:
        self.rows, self.column, self.classes = rows, column, list(texts)
        self.numbers = {name: number for number, name in enumerate(self.classes)}
        if all(text.isdecimal() for text in texts):
            self.numbers, self.classes = {text: int(text) for text in texts}, []

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Any) -> Any:
        many = getattr(self.rows, "__getitems__", None)
        found = many(indices) if many else [self.rows[int(at)] for at in indices]
        return [{**row, self.column: self.number(row.get(self.column))} for row in found]

    def number(self, label: Any) -> Any:
        """Return the class number of a label, or of another label None or its text."""
        return self.numbers.get(label, None if label is None else str(label))


class NumberedPairs:
    """Pairs or dicts of an image and a text label that is replaced by its class number."""

    def __init__(self, rows: Any, classes: list[str]) -> None:
        self.rows, self.classes = rows, classes
        self.numbers = {name: number for number, name in enumerate(classes)}

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        row = self.rows[int(index)]
        label = label_of(row)
        if not isinstance(label, str):
            return row
        number = self.numbers.get(label, label)
        return {**row, label_column(row): number} if isinstance(row, dict) else (row[0], number)


def label_of(row: Any) -> Any:
    """Return the label of a pair or of a dict with a label column, or None."""
    if isinstance(row, dict):
        return row.get(label_column(row))
    return row[1] if isinstance(row, tuple | list) and len(row) == 2 else None


def labels_read(data: Any) -> Any:
    """Return the labels of a PyTorch dataset of at most 1,000 samples by reading all.

    Returns None if the dataset is larger, or if the first label is not a text.
    """
    labels: list[Any] = []
    small = hasattr(data, "__len__") and not hasattr(data, "ndim") and len(data) <= 1000
    for index in range(len(data) if small else 0):
        try:
            labels.append(label_of(data[index]))
        except Exception:  # reported when the sample is read
            if index == 0:
                return None
            continue
        if not isinstance(labels[0], str):
            return None
    return labels or None


def number_pairs(data: Any) -> Any:
    """Replace the text labels of a list of pairs, or of a PyTorch dataset, by class numbers.

    The classes are ``data.classes``, or the sorted texts in ``data.targets``, in the list, or in a
    small dataset.
    """
    labels, classes = getattr(data, "targets", None), getattr(data, "classes", None)
    if isinstance(data, list):
        labels = [label_of(row) for row in data]
    elif labels is None and classes is None:
        labels = labels_read(data)
    if labels is not None and not all(isinstance(label, str) for label in labels):
        return data
    texts = classes if isinstance(classes, list | tuple) else sorted(set(labels or ()))
    return NumberedPairs(data, list(texts)) if texts and isinstance(texts[0], str) else data


def number_classes(rows: Any, table: Any) -> Any:
    """Return the rows of an Arrow, Polars, pandas or Hugging Face table with numeric labels."""
    names = getattr(table, "column_names", None)
    column = label_column(table.columns if names is None else names)
    if column is None:
        return rows
    try:
        values = table.unique(column) if hasattr(table, "cast_column") else table[column].unique()
    except (NotImplementedError, TypeError):  # lists have no order: each row reports its label
        return rows
    values = values.to_pylist() if hasattr(values, "to_pylist") else values
    ordered = [] if hasattr(table, "cast_column") else categories_of(table[column])
    texts = ordered or sorted(value for value in values if isinstance(value, str))
    return RowsWithClassNumbers(rows, column, texts) if texts else rows


def read_parquet(path: str) -> Any:
    """Read the columns of a Parquet file with encoded images and labels, or all columns."""
    from pyarrow import parquet

    table = parquet.read_table(path, memory_map=True).flatten()  # Hugging Face: image.bytes
    kinds = dict(zip(table.column_names, table.schema.types, strict=True))
    images = [name for name, kind in kinds.items() if "binary" in str(kind)]
    if not images:
        raise ValueError(
            f"{path} has no column of encoded images, only {', '.join(map(repr, kinds))}"
        )
    label, parts = label_column(kinds), {name.partition(".")[0] for name in images}
    others = [name for name in kinds if name.partition(".")[0] not in parts]
    table = table.select([*images, *(others if label is None else [label])])
    inner = {name: name.partition(".")[0] for name in images}
    return table.rename_columns([inner.get(name, name) for name in table.column_names])


def require_memory(path: str) -> None:
    """Raise DataError if a Parquet file, which is loaded completely, exceeds the free memory."""
    from pyarrow import parquet

    meta = parquet.read_metadata(path)
    needed = sum(meta.row_group(group).total_byte_size for group in range(meta.num_row_groups))
    free = psutil.virtual_memory().available
    if needed > free:
        raise DataError(
            f"{path} needs {needed / 2**30:.1f} GiB of memory, but only {free / 2**30:.1f} "
            "GiB is free. Convert it to WebDataset (.tar), or use a part of it."
        )
