"""Compare two records, and load the records in a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.bench.measuring.grid import KNOBS
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.stats import Interval, ratio
from workbench.bench.records.record import Report, load_report
from workbench.errors import DataError, RecordFormatError

_TURNED = {"sweep": KNOBS, "threads": ("threads",), "pipelines": ("pipelines",)}
"""Knobs that vary between the rows of a record, by kind of record."""
SURE = 0.01
"""Two rates are the same if both ends of the ratio's interval are within this distance from 1."""


@dataclass(frozen=True, slots=True)
class ComparedConfig:
    """Configuration that both records contain. ``ratio`` is the second rate divided by the first.

    ``differs`` names the knobs that have a different value in the second record.
    """

    name: str
    first: Measurement
    second: Measurement
    ratio: Interval
    differs: tuple[str, ...]

    @property
    def ratio_text(self) -> str:
        """Ratio with its interval, or only the interval if the ratio is not known within 3 %."""
        ends = f"{self.ratio.low:.3f} to {self.ratio.high:.3f}"
        return f"{self.ratio.median:.3f} ({ends})" if self.ratio.is_known else ends

    @property
    def verdict(self) -> str:
        """Verdict on the second record: faster, slower, the same, or no measurable difference."""
        if self.ratio.low >= 1 - SURE and self.ratio.high <= 1 + SURE:
            return "the same"
        if self.ratio.low > 1:
            return "faster"
        return "slower" if self.ratio.high < 1 else "no measurable difference"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Configurations in both records, names of configurations in only one of them, and warnings."""

    pairs: tuple[ComparedConfig, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    warnings: tuple[str, ...]


def compare_reports(first: Report, second: Report) -> Comparison:
    """Pair the measurements of two records by label, device, regime, program and workers.

    For sweeps and thread scaling, each setting is paired separately. Probes of a tuner are
    excluded.
    """
    turned = [
        knob for knob in KNOBS if any(knob in _TURNED.get(r.kind, ()) for r in (first, second))
    ]
    ours, theirs = _by_key(first, turned), _by_key(second, turned)
    pairs = tuple(
        ComparedConfig(
            _name(ours[key], turned),
            ours[key],
            theirs[key],
            ratio(theirs[key].imgs_per_s, ours[key].imgs_per_s),
            _changed_knobs(ours[key], theirs[key]),
        )
        for key in ours
        if key in theirs
    )
    return Comparison(
        pairs,
        tuple(_name(row, turned) for key, row in ours.items() if key not in theirs),
        tuple(_name(row, turned) for key, row in theirs.items() if key not in ours),
        tuple(_warnings(first, second)),
    )


def _by_key(report: Report, varied_knobs: Sequence[str]) -> dict[tuple[object, ...], Measurement]:
    return {
        _key(row, varied_knobs): row for row in report.measurements if row.rounds and not row.probe
    }


def _key(row: Measurement, varied_knobs: Sequence[str]) -> tuple[object, ...]:
    config = row.config
    knobs = (getattr(config, knob) for knob in varied_knobs)
    return row.label, config.program, config.device, config.regime, config.workers, *knobs


def _name(row: Measurement, varied_knobs: Sequence[str]) -> str:
    return f"{row.name}, {row.config.settings}" if varied_knobs else row.name


def _changed_knobs(first: Measurement, second: Measurement) -> tuple[str, ...]:
    return tuple(
        f"{name} {getattr(first.config, name)} -> {getattr(second.config, name)}"
        for name in KNOBS
        if getattr(first.config, name) != getattr(second.config, name)
    )


def _warnings(first: Report, second: Report) -> list[str]:
    found = []
    if first.graph != second.graph:
        found.append(f"the graphs differ: {first.graph} and {second.graph}")
    elif len({r.context.get("graph_sha256") for r in (first, second)} - {None}) > 1:
        found.append(f"both are called {first.graph}, but the graphs differ")
    facts = [(r.files, r.size) for r in (first, second)]
    if facts[0] != facts[1]:
        words = [f"{files} files, {size} bytes" for files, size in facts]
        found.append(f"the data differ: {words[0]} and {words[1]}")
    machines = [
        f"{r.machine.cpu}, {r.machine.cores} cores, {r.machine.gpu_name or 'no GPU'}"
        for r in (first, second)
    ]
    if machines[0] != machines[1]:
        found.append(f"the machines differ: {machines[0]} and {machines[1]}")
    if first.machine.dali != second.machine.dali:
        found.append(f"the DALI versions differ: {first.machine.dali} and {second.machine.dali}")
    drivers = [r.machine.driver for r in (first, second)]
    if all(drivers) and drivers[0] != drivers[1]:
        found.append(f"the GPU's driver differs: {drivers[0]} and {drivers[1]}")
    caches = [r.cache.state if r.cache else "not recorded" for r in (first, second)]
    if caches[0] != caches[1]:
        found.append(f"the page cache differs: {caches[0]} and {caches[1]}")
    return found


def read_report(path: str | Path) -> Report:
    """Read the record in a file. Raises DataError or RecordFormatError that names the file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a text file"
        raise DataError(f"{path} cannot be read: {reason}. Use a record (.json).") from None
    try:
        return load_report(text)
    except RecordFormatError as error:
        raise RecordFormatError(f"{path}: {error}") from None


def read_folder(folder: str | Path) -> tuple[Mapping[str, Report], tuple[str, ...]]:
    """Load all records in a folder, oldest first. Other JSON files are skipped.

    Return the records by file name, and the reasons why files were skipped. Raises DataError if the
    folder cannot be listed.
    """
    found: dict[str, Report] = {}
    refused = []
    try:
        paths = sorted(Path(folder).glob("*.json"))
        if not Path(folder).is_dir():
            raise DataError(f"There is no folder {folder}. Use a folder with records.")
    except OSError as error:
        raise DataError(f"{folder} cannot be listed: {error.strerror}.") from None
    for path in paths:
        try:
            found[path.stem] = read_report(path)
        except (DataError, RecordFormatError) as error:
            refused.append(str(error))
    return dict(sorted(found.items(), key=lambda item: item[1].created)), tuple(refused)
