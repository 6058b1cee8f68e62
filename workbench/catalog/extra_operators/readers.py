"""Define readers that DALI lacks: one for Python data, and those in ``readers.toml``.

The code of each reader is in the attribute ``reader`` of its ``SourceKind``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.catalog.extra_operators.rows import ports_of, read_operators
from workbench.catalog.spec import ArgSpec, OpSpec
from workbench.catalog.tables import read_tables
from workbench.sources import SAMPLER_OPTIONS, kind_of_reader, load_source

PYTHON_READER = "external_source"
FIELD_READER = f"{PYTHON_READER}_fields"
_ROWS = read_tables("extra_operators/readers.toml")
_PORTS = _ROWS.pop("ports")
TARGET_READERS = frozenset(_ROWS)
REQUESTS = read_operators("requests.toml")
REQUEST, ARRAY_REQUEST = REQUESTS["request"], REQUESTS["array_request"]
SAMPLED_READERS = frozenset(
    {
        "readers.file",
        "readers.image_masks",
        "readers.coco",
        "readers.numpy",
        "external_source",
        "external_source_fields",
    }
)
"""Readers that support the options of a sampler."""


_REPLACED = (
    *("shuffle_after_epoch", "shuffle_after_epoch_seed", "file_filters", "dir_filters"),
    *("polygon_masks", "pixelwise_masks", "image_ids", "roi_start", "roi_end", "roi_shape"),
    *("rel_roi_start", "rel_roi_end", "rel_roi_shape", "fill_value", "out_of_bounds_policy"),
)
"""Reader options that cannot be used with a sampler."""
_SAMPLER_ARGS = (
    ArgSpec(
        "sampler",
        "str",
        "Order of the samples. random: each epoch is a random order of all samples. "
        "balanced: samples are drawn at random, equally often from each class. "
        "sequential: in the order of indices. With any option of the sampler, "
        "random_shuffle and initial_fill have no effect. If only other options of the sampler are "
        "set, it is random.",
        label="Sampler",
        choices=("random", "balanced", "sequential"),
        advanced=False,
    ),
    ArgSpec(
        "weights",
        "float_list",
        "Weight of each class, by class number. A class of weight 2 is drawn twice as often as "
        "with weight 1, and a class of weight 0 never.",
        label="Class weights",
        minimum=0,
    ),
    ArgSpec(
        "sample_weights",
        "float_list",
        "Weight of each sample, in file order.",
        label="Sample weights",
        minimum=0,
    ),
    ArgSpec(
        "replacement",
        "bool",
        "Whether a sample can be drawn several times per epoch. By default it can if the samples "
        "have weights.",
        label="Draw with replacement",
    ),
    ArgSpec(
        "indices",
        "int_list",
        "Samples that are read, by their number in file order. By default all are read.",
        label="Only these samples",
        minimum=0,
    ),
    ArgSpec(
        "repeats",
        "int",
        "How often each sample is output in sequence (repeated augmentation).",
        default=1,
        label="Repeat each sample",
        low=1,
        high=8,
        step=1,
        minimum=1,
    ),
    ArgSpec(
        "num_samples",
        "int",
        "Number of samples per epoch. By default it is the number of samples in the data, times "
        "repeats.",
        label="Samples per epoch",
        minimum=1,
    ),
)


def with_sampler_arguments(reader: OpSpec) -> OpSpec:
    """Return a reader with the options of a sampler as additional arguments."""
    rivals = [each for each in _REPLACED if each in reader.args]
    return replace(
        reader,
        args={**reader.args, **{arg.name: arg for arg in _SAMPLER_ARGS}},
        mutually_exclusive=(
            *reader.mutually_exclusive,
            *((own, other) for own in SAMPLER_OPTIONS for other in rivals),
        ),
    )


DALI_READERS: Mapping[str, str] = {
    name: row["reader"] for name, row in _ROWS.items() if "args" in row
}
"""Readers whose exported code calls a reader of DALI directly, mapped to the reader of DALI."""


def reader_arguments(ops: Mapping[str, OpSpec]) -> dict[str, OpSpec]:
    """Return the readers of ``readers.toml`` by name.

    Each reader has the arguments of the DALI reader that it extends, except arguments that locate
    the data.
    """
    made = {}
    for name, row in _ROWS.items():
        if (reader := ops.get(row["reader"])) is None:
            continue
        located = load_source(kind_of_reader(name)).located_by
        args = {key: arg for key, arg in reader.args.items() if key not in located}
        args |= {key: ops["readers.coco"].args[key] for key in row.get("options", ())}
        own = {key: ArgSpec(key, **table) for key, table in row.get("args", {}).items()}
        args = {**own, **{key: arg for key, arg in args.items() if key not in own}}
        doc = f"{row['label']}; images are read as by {reader.name}."
        made[name] = replace(
            reader,
            name=name,
            schema=name,
            outputs=ports_of({port: _PORTS[port] for port in row["outputs"]}),
            args=args,
            mutually_exclusive=(),
            doc=doc,
            summary=doc,
            label=row["label"],
            synonyms=row["synonyms"],
        )
    return made


def python_reader(file_reader: OpSpec) -> OpSpec:
    """Return the reader of Python data, with the outputs and options of DALI's file reader."""
    options = load_source(kind_of_reader(PYTHON_READER)).options or frozenset()
    summary = "Reads arrays, encoded bytes, PIL images and datasets that a Python function returns."
    return replace(
        file_reader,
        name=PYTHON_READER,
        schema="ExternalSource",
        args={name: arg for name, arg in file_reader.args.items() if name in options},
        mutually_exclusive=(),
        doc=summary,
        summary=summary,
        label="Images in Python",
        synonyms=("numpy", "array", "Dataset", "Hugging Face", "DataFrame", "Parquet", "generator"),
    )


def field_reader(reader: OpSpec) -> OpSpec:
    """Return the reader of Python data with named fields, based on the reader without fields."""
    summary = "Reads a Python dataset whose samples have more fields than an image and a label."
    doc = "Names of the fields, such as boxes; each is an output, after images and labels."
    fields = ArgSpec("fields", "str_list", doc, label="Fields", advanced=False)
    return replace(
        reader,
        name=FIELD_READER,
        schema="",
        args={**reader.args, fields.name: fields},
        doc=summary,
        summary=summary,
        label="Images and fields in Python",
        named_outputs=fields.name,
    )
