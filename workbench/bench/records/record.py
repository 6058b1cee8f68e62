"""Read and write the record of a measurement: results, machine, data and method.

All kinds of records have the same schema. The current version is 2; version 1 (medians and rounds
only) can still be read.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from workbench.bench.measuring.config import LOAD, REGIMES, UNMAPPED, Config, Regime, config_of
from workbench.bench.measuring.data_files import CacheState, Fingerprint
from workbench.bench.measuring.grid import Grid
from workbench.bench.measuring.measurement import Latency, Measurement
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.bench.measuring.pixels import pixel_sentences
from workbench.bench.measuring.stats import Interval, paired_ratio
from workbench.bench.measuring.transfer import copied_text
from workbench.bench.measuring.workload import TimedRound
from workbench.bench.records.operator_report import operators_of
from workbench.bench.records.report_text import (
    faster_exports,
    report_frame,
    report_html,
    report_text,
)
from workbench.bench.records.stage_report import stages_of
from workbench.engine.resources.machine import Machine
from workbench.errors import GraphFormatError, RecordFormatError
from workbench.graph.execution.dataset_parameters import parameters
from workbench.graph.model import Graph, Settings
from workbench.graph.storage.io import dump_json, graph_to_json
from workbench.graph.storage.recipes import load_recipe
from workbench.sources import PARAMETER

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FORMAT = "dali-workbench-bench"
VERSION = 2
MISSING = "not measured"
WHOLE = "whole pipeline"
"""Name of the row that measures the whole pipeline, in stage runs and other runs."""
T = TypeVar("T")


class Throughput(float):
    """Median rate of a measurement, displayed as a range if it is not known within 3 %."""

    row: Measurement

    def __new__(cls, row: Measurement) -> Throughput:
        made = super().__new__(cls, row.rate)
        made.row = row
        return made

    def __repr__(self) -> str:
        return self.row.rate_text

    def __str__(self) -> str:
        return self.row.figure


@dataclass(frozen=True, slots=True)
class Ratio:
    """Speed of the measurement named ``ours`` divided by the speed of the one named ``theirs``."""

    ours: str
    theirs: str
    interval: Interval


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """Measurements, with the machine, data and graph that were used.

    ``data`` is the name of the data folder. ``context`` has versions, git state and the hash of the
    graph; ``extra`` has additional results by kind: pixel differences, stages, the tuner's path. A
    notebook displays the report as a table; ``plot`` draws a chart.

    ::

        print(report.best, "imgs/s on", report.machine.cpu)
        report.plot().savefig("speed.png")
    """

    graph: str
    data: str
    machine: Machine
    measurements: tuple[Measurement, ...]
    fingerprint: Fingerprint | None = None
    cache: CacheState | None = None
    measurement_config: MeasurementConfig = field(default_factory=MeasurementConfig)
    kind: str = "bench"
    name: str = ""
    created: str = ""
    context: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def files(self) -> int | None:
        """Number of files in the folder, or None if counting took too long."""
        return self.fingerprint.files if self.fingerprint else None

    @property
    def size(self) -> int | None:
        """Total size of the folder's files in bytes, or None if counting took too long."""
        return self.fingerprint.size if self.fingerprint else None

    @property
    def left_out(self) -> tuple[str, ...]:
        """Bad files of the folder that were not read, each with the reason."""
        found = self.extra.get("left_out", ())
        return tuple(f"{one['file']}: {one['reason']}" for one in found)

    @property
    def frames(self) -> int:
        """Number of frames per sample of sequences, or 0 for images."""
        return next((row.config.frames for row in self.measurements), 0)

    @property
    def best(self) -> float | None:
        """imgs/s of DALI's fastest whole pipeline, or of decoding if only decoding was measured.

        Probes, which are too short, and single operators, which are not pipelines, are excluded.

        ::

            best = report.best
            assert best is not None and best > 0
        """
        return Throughput(self.best_row) if self.best_row else None

    @property
    def best_row(self) -> Measurement | None:
        """The measurement of ``best``, or None if nothing was measured."""
        if self.kind == "operators":
            return None
        rows = [row for row in self.measurements if row.config.program == "DALI" and not row.probe]
        if self.kind == "stages":
            rows = [row for row in rows if row.name == WHOLE]
        rows = [row for row in rows if row.config.regime == "pipeline"] or rows
        return max((row for row in rows if row.rounds), key=lambda row: row.rate, default=None)

    @property
    def ratios(self) -> tuple[Ratio, ...]:
        """Speed ratios of mixed to CPU decoding by regime, and of DALI to each peer by device.

        Only measurements with interleaved rounds have ratios.

        ::

            assert not report.ratios  # only one device was measured
        """
        found = []
        rows = self.measurements if self.kind == "bench" else ()
        measured = [row for row in rows if row.rounds and row.is_interleaved]
        for ours in measured:
            for theirs in measured:
                a, b = ours.config, theirs.config
                mixed = (a.device, b.device) == ("mixed", "cpu") and a.program == b.program
                peer = a.program == "DALI" != b.program and a.device == b.device
                if a.regime == b.regime and (mixed or peer):
                    interval = paired_ratio(ours.imgs_per_s, theirs.imgs_per_s)
                    found.append(Ratio(ours.name, theirs.name, interval))
        return tuple(found)

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per measurement: imgs/s with its interval.

        For a stage run, the data frame has one row per stage in milliseconds per batch, followed by
        the slowest files.

        ::

            print(report.to_frame())

        Raises ImportError if pandas is not installed.
        """
        return report_frame(self)

    def plot(self) -> Figure:
        """Draw a matplotlib figure: bars, curves or a heat map, depending on the kind.

        Raises EngineError if nothing was measured.

        ::

            figure = report.plot()
            figure.set_size_inches(8, 4)
        """
        from workbench.bench.records.plots import plot_record  # matplotlib takes a second

        return plot_record(self)

    def __repr__(self) -> str:
        return report_text(self)

    def _repr_html_(self) -> str:
        return report_html(self)

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON values, with format name and version."""
        data: dict[str, Any] = {"root": self.data, "files": self.files, "bytes": self.size}
        if self.fingerprint:
            data["mean_bytes"] = self.fingerprint.mean_size
            data["formats"] = dict(self.fingerprint.formats)
        if self.cache:
            data["cache"] = asdict(self.cache)
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "name": self.name,
            "created": self.created,
            "graph": self.graph,
            "results": [result_to_json(row) for row in self.measurements],
            "ratios": [
                {"of": one.ours, "to": one.theirs, **asdict(one.interval)} for one in self.ratios
            ],
            "machine": asdict(self.machine),
            "data": encode_missing(data),
            "method": asdict(self.measurement_config),
            "context": dict(self.context),
            **({"extra": dict(self.extra)} if self.extra else {}),
        }


def result_to_json(row: Measurement) -> dict[str, Any]:
    """Convert a measurement to JSON values. Missing values are marked as not measured."""
    found, config = row.interval, asdict(row.config)
    return {
        **config,
        "label": row.label,
        "imgs_per_s": {
            "median": found and found.median,
            "low": found and found.low,
            "high": found and found.high,
            "level": found and found.level,
            "within_3_percent": row.within_3_percent,
            "cv": row.variation,
            "rounds": list(row.imgs_per_s),
        },
        **encode_missing(
            {
                "latency_ms": asdict(row.latency) if row.latency else None,
                "first_batch_s": row.first_batch,
                "cpu_cores": row.cpu_cores,
                "other_cores": row.other_busy_cores,
                "memory": encode_missing(
                    {"host_bytes": row.host_bytes, "gpu_bytes": row.gpu_bytes}
                ),
                "gpu_percent": encode_missing(
                    {"gpu": row.gpu_busy, "jpeg": row.jpeg_busy, "bus": row.bus_busy}
                ),
            }
        ),
        "warm_up": {"imgs_per_s": list(row.warm_up), "settled": row.settled},
        "rounds": [_round_to_json(one) for one in row.rounds],
        "stopped": row.stop_reason,
        "unstable": row.unstable,
        "flags": list(row.flags),
        "notes": list(row.notes),
        "reason": row.reason,
    }


def _round_to_json(timed_round: TimedRound) -> dict[str, Any]:
    values = asdict(replace(timed_round, latencies=()))
    del values["latencies"]
    if not timed_round.by_second:
        del values["by_second"]
    return encode_missing(values)


def encode_missing(values: Mapping[str, Any]) -> dict[str, Any]:
    """Replace None with the marker that records use for values that were not measured."""
    return {name: MISSING if value is None else value for name, value in values.items()}


def decode_missing(value: Any) -> Any:
    """Replace the marker for missing values with None."""
    if isinstance(value, dict):
        return {name: decode_missing(one) for name, one in value.items()}
    return None if value == MISSING else value


def _read(value: Any, kind: type[T]) -> T:
    return msgspec.convert(decode_missing(value), kind)


def dump_report(report: Report) -> str:
    """Return the record as JSON text."""
    return json.dumps(report.to_json(), indent=1, ensure_ascii=False) + "\n"


def load_report(text: str) -> Report:
    """Parse a report from text written by ``Report.to_json`` or ``workbench bench --json``.

    Raises RecordFormatError with the location and a fix.

    ::

        pathlib.Path("speed.json").write_text(json.dumps(report.to_json()))
        again = wb.load_report(pathlib.Path("speed.json").read_text())
    """
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        is_path = text.endswith(".json") and "\n" not in text
        fix = "the text of the file: pathlib.Path(file).read_text()" if is_path else "a record"
        raise RecordFormatError(f"The text is not valid JSON ({error}). Pass {fix}.") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        found = record.get("format") if isinstance(record, dict) else type(record).__name__
        raise RecordFormatError(
            f"The text is not a record of measurements: its format is {found!r}, not {FORMAT!r}. "
            "`workbench bench ... --json FILE` writes one."
        )
    version = record.get("version")
    if version not in (1, VERSION):
        raise RecordFormatError(
            f"The record has version {version!r}, but this workbench reads 1 to "
            f"{VERSION}. Open it with the version that wrote it, or measure again."
        )
    report = parse_or_raise(record, lambda: _report(record, version))
    parse_or_raise(record, lambda: _check_extra(report))
    return report


def parse_or_raise(record: dict[str, Any], read: Callable[[], T]) -> T:
    """Return the result of ``read``. Raises RecordFormatError if the record is incomplete."""
    try:
        return read()
    except KeyError as error:
        raise RecordFormatError(
            f"The record is damaged: the entry {error.args[0]!r} is missing. Measure again."
        ) from None
    except (
        msgspec.ValidationError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        LookupError,
    ) as error:
        raise RecordFormatError(
            f"The record is damaged ({error}). Use another copy of the file, or measure again."
        ) from None


def _check_extra(report: Report) -> None:
    """Raise an error if the results in ``extra`` cannot be parsed."""
    stages_of(report.extra)
    operators_of(report.extra)
    pixel_sentences(report.extra)
    faster_exports(report)
    copied_text(report.extra)
    _ = report.left_out
    if report.kind == "sweep":
        Grid.from_json(report.extra["grid"])


def _report(record: dict[str, Any], version: int) -> Report:
    data = record["data"]
    cache, method = data.get("cache"), record.get("method")
    return Report(
        str(record["graph"]),
        str(data["root"]),
        _read(record["machine"], Machine),
        tuple(_result(row, version) for row in record["results"]),
        Fingerprint(
            str(data["root"]),
            decode_missing(data["files"]),
            decode_missing(data["bytes"]),
            tuple(data.get("formats", {}).items()),
        ),
        _read(cache, CacheState) if cache else None,
        _read(method, MeasurementConfig)
        if method
        else MeasurementConfig(warm_up_rounds=0, budget=0.0),
        str(record.get("kind", "bench")),
        str(record.get("name", "")),
        str(record.get("created", "")),
        dict(record.get("context", {})),
        dict(record.get("extra", {})),
    )


def _result(row: dict[str, Any], version: int) -> Measurement:
    config = _read(row, Config)
    if version == 1:
        # It stored only the rates: a round is represented as one batch of its rate.
        size = row["batch_size"]
        rounds = tuple(
            TimedRound(size / rate, 1, size, 0.0) for rate in row["imgs_per_s"]["rounds"]
        )
        return Measurement(config, rounds, row["reason"], notes=("from a record of version 1",))
    latency = decode_missing(row["latency_ms"])
    return Measurement(
        config,
        tuple(_read(one, TimedRound) for one in row["rounds"]),
        str(row["reason"]),
        str(row["label"]),
        row["stopped"],
        tuple(row["warm_up"]["imgs_per_s"]),
        bool(row["warm_up"]["settled"]),
        _read(latency, Latency) if latency else None,
        decode_missing(row["first_batch_s"]),
        decode_missing(row["memory"]["host_bytes"]),
        decode_missing(row["memory"]["gpu_bytes"]),
        decode_missing(row["gpu_percent"]["gpu"]),
        decode_missing(row["gpu_percent"]["jpeg"]),
        tuple(row["notes"]),
        tuple(row["flags"]),
        decode_missing(row["gpu_percent"].get("bus")),
    )


# Context of a record: the hash of its graph, and the command to measure it on another machine.


def graph_hash(graph: Graph) -> str:
    """Return the SHA-256 of a graph, without settings and tunable arguments.

    These are compared separately. The hash is always computed from version 1 of the graph format,
    so that records of unchanged graphs remain comparable.
    """
    bare = graph_to_json(replace(graph, settings=Settings()))
    del bare["settings"]["pipelines"]  # missing in version 1
    entries = {entry["id"]: entry for entry in (*bare.pop("sources"), *bare.pop("nodes"))}
    for entry in _walk_nodes(entries.values()):
        entry.pop("kind", None)
        args = entry.get("args", {})
        if {LOAD, UNMAPPED} & {*args}:
            hashed = {name: value for name, value in args.items() if name not in (LOAD, UNMAPPED)}
            if hashed:
                entry["args"] = hashed
            else:
                del entry["args"]
    outputs = bare.pop("outputs")
    nodes = [entries[node.id] for node in graph.nodes]
    text = dump_json({**bare, "version": 1, "nodes": nodes, "outputs": outputs})
    return hashlib.sha256(text.encode()).hexdigest()


def _walk_nodes(entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for entry in entries:
        yield entry
        for body in entry.get("bodies", {}).values():
            yield from _walk_nodes(body["nodes"])


def gpu_command(
    graph: Graph, regimes: Sequence[Regime] = REGIMES, more: Sequence[str] = ()
) -> tuple[str, str]:
    """Return a command to run on a machine with a GPU, and a hint on preparing that machine.

    A recipe is passed by name, with changed settings as options. Any other graph is passed as a
    file. The record that the command writes can be opened and compared anywhere. ``more`` are
    further options.
    """
    name = graph.name
    words, hint = [f"{name}.json"], f"Save the graph as {name}.json and copy it there."
    with suppress(GraphFormatError):
        recipe = load_recipe(name)
        options = _options(config_of(recipe), config_of(graph))
        if options is not None and graph_hash(recipe) == graph_hash(graph):
            words, hint = [name, *options], ""
    part = ["--regime", regimes[0]] if len(regimes) == 1 else []
    part += more
    data = [
        word
        for parameter in parameters(graph.nodes)
        for word in ("--data", "DIR" if parameter == PARAMETER else f"{parameter}=DIR")
    ]
    whole = [*words, *data, *part, "--json", f"{name}-gpu.json"]
    return shlex.join(["workbench", "bench", *whole]), hint


def _options(default: Config, desired: Config) -> list[str] | None:
    """Return ``bench`` options that change ``default`` to ``desired``, or None if impossible."""
    if desired.prefetch != default.prefetch or (
        default.hw_decoder_load and not desired.hw_decoder_load
    ):
        return None
    values = {
        "--batch-size": (default.batch_size, desired.batch_size),
        "--threads": (default.threads, desired.threads),
        "--pipelines": (default.pipelines, desired.pipelines),
        "--load": (default.hw_decoder_load, desired.hw_decoder_load),
    }
    changed = {option: own for option, (known, own) in values.items() if own != known}
    return [word for option, own in changed.items() for word in (option, f"{own:g}")]
