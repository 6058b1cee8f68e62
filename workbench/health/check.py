"""Find the unusable files of a folder by their headers or by decoding them.

Also finds duplicate files and near-duplicate images.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image, ImageOps

from workbench.arguments import FLAG, FUNCTION, checked
from workbench.engine.file_checks.file_check import similar_pairs
from workbench.engine.file_checks.file_check_pool import check_each, check_outside_roots
from workbench.engine.protocol.exit_status import printable
from workbench.engine.protocol.heartbeat import warn_of_silence
from workbench.engine.protocol.progress import count_bar, with_progress_bar
from workbench.engine.reading.encoded_images import (
    large_image,
    open_image,
    pillow_warnings_ignored,
)
from workbench.engine.reading.findings import KINDS, LINE_BREAK, CheckedFile, Finding, Level
from workbench.engine.resources.machine import usable_cores
from workbench.errors import CancelledError, DataError
from workbench.figures import plot_counts
from workbench.roots import Roots
from workbench.sources import (
    Dataset,
    Location,
    Sample,
    describe_not_read,
    dump_file_list,
    fits_list,
    list_samples,
    load_source,
    no_files_reason,
    open_dataset,
    write_remaining,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_KEPT_AT_ONCE = 500
_MOST_SHOWN = 100
"""Maximum number of files in a notebook's table."""
LEVELS: tuple[Level, ...] = ("bad", "damaged", "unusual")


@dataclass(frozen=True, slots=True, repr=False)
class FolderCheck:
    """The result of a check.

    ``files`` are the files with a finding, in the order of the reader; ``count`` is the number of
    checked files. ``full`` is True if every file was decoded. A notebook displays a table of the
    files.

    ::

        found = wb.check_folder("photos", full=False)
        print(found)
    """

    dataset: Dataset
    count: int
    full: bool
    files: tuple[CheckedFile, ...]
    not_read: tuple[str, ...] = ()
    """Sentences about files and folders that are not read, and about empty class folders."""

    def __repr__(self) -> str:
        levels = {level: len(self.of_level(level)) for level in LEVELS}
        words = ", ".join(f"{number} {level}" for level, number in levels.items() if number)
        decoded = "decoded" if self.decoded == self.count else f"({self.decoded:,} decoded)"
        how = decoded if self.full else "looked at"
        return f"<check of {self.dataset}: {self.count:,} files {how}, {words or 'all good'}>"

    def _repr_html_(self) -> str:
        worst = self.of_level("bad") + self.of_level("damaged") + self.of_level("unusual")
        rows = (
            f"<tr><td>{escape(printable(file.file)[:200])}</td><td>{file.level}</td>"
            f"<td>{escape(printable(file.reason)[:300])}</td></tr>"
            for file in worst[:_MOST_SHOWN]
        )
        more = len(worst) - _MOST_SHOWN
        rest = f"<p>and {more:,} more files</p>" if more > 0 else ""
        head = "<tr><th>file</th><th>level</th><th>why</th></tr>" if worst else ""
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.counts.items())
        words = escape(f"{repr(self)[1:-1]}{': ' if kinds else ''}{kinds}")
        unread = "".join(f"<p>{escape(printable(note))}</p>" for note in self.not_read)
        return f"<p>{words}</p>{unread}<table>{head}{''.join(rows)}</table>{rest}"

    def to_frame(self) -> Any:
        """Return a pandas data frame of the files with findings: level, size in bytes, reason.

        ::

            frame = wb.check_folder("photos", full=False).to_frame()

        Raises ImportError if pandas is not installed.
        """
        import pandas

        rows = [(file.file, file.level, file.size, file.reason) for file in self.files]
        return pandas.DataFrame(rows, columns=["file", "level", "size", "why"])

    def plot(self) -> Figure:
        """Return a matplotlib figure of the number of files per kind of finding.

        ::

            figure = wb.check_folder("photos", full=False).plot()
        """
        sound = self.count - sum(map(_is_file, self.files))
        return plot_counts({**self.counts, "nothing found": sound}, "files", repr(self)[1:-1])

    def of_level(self, *levels: Level) -> tuple[CheckedFile, ...]:
        """Return the files whose worst finding has one of these levels."""
        return tuple(file for file in self.files if file.level in levels)

    @property
    def bad(self) -> tuple[CheckedFile, ...]:
        """Files that DALI cannot read or decode.

        ::

            for file in wb.check_folder("photos", full=False).bad:
                print(file.file, file.reason)
        """
        return self.of_level("bad")

    @property
    def decoded(self) -> int:
        """Number of completely decoded files: all except bad files in a full check, otherwise 0.

        ::

            assert wb.check_folder("photos").decoded == 120
        """
        return self.count - sum(map(_is_file, self.bad)) if self.full else 0

    @property
    def counts(self) -> dict[str, int]:
        """Number of files per kind of finding, from the most to the least severe kind.

        ::

            print(wb.check_folder("photos", full=False).counts)
        """
        found = Counter(kind for file in self.files for kind in {f.kind for f in file.findings})
        return {kind: found[kind] for kind in KINDS if kind in found}

    def good_list(self) -> bytes:
        """Return a ``file_list`` for DALI: paths and labels of files that are not bad or damaged.

        Paths are absolute. Paths with a line break are omitted and reported as findings. Raises
        DataError if no file is left, and for data whose samples are not files.

        ::

            found = wb.check_folder("photos", full=False)
            pathlib.Path("good.txt").write_bytes(found.good_list())
        """
        kind = load_source(self.dataset.kind)
        if not kind.lists_files:
            raise DataError(
                f"{self.dataset} is a {kind.about}: DALI's file_list cannot name its samples. "
                f"`workbench check {self.dataset} --good NEW_FOLDER` writes the data without the "
                "bad ones."
            )
        skipped = self.skipped
        written = dump_file_list(
            file for file in list_samples(self.dataset) if file.name not in skipped
        )
        if not written:
            fitting = " without a line break in its name" if self.unlistable else ""
            raise DataError(f"No list was written: {self.dataset} has no good file{fitting}.")
        return written

    def write_good(self, folder: str) -> str:
        """Write the samples that are neither bad nor damaged to a new folder and return its path.

        Exported programs accept this path instead of the original. For record files, whose samples
        a file list cannot select, the folder contains links to the data and new indices; for COCO,
        new annotations. Raises DataError if no sample is left or the folder exists, and OSError if
        writing fails.
        """
        names = self.skipped
        if self.dataset.in_memory:
            listed = ", ".join(sorted(names, key=int)[:20])
            raise DataError(
                f"{self.dataset}: samples of {load_source(self.dataset.kind).about} cannot be "
                f"excluded. Remove these indices where the data are created: {listed}."
            )
        if all(file.name in names for file in list_samples(self.dataset)):
            raise DataError(f"All samples of {self.dataset} are bad. Fix them, or use other data.")
        if os.path.lexists(folder):
            raise DataError(f"{folder} already exists. Use a new folder.")
        return os.fspath(write_remaining(self.dataset, names, Path(folder)))

    @property
    def skipped(self) -> frozenset[str]:
        """Names of the bad or damaged samples, which an exported program must skip."""
        return frozenset(file.file for file in self.of_level("bad", "damaged"))

    @property
    def unlistable(self) -> tuple[str, ...]:
        """Names of good files that ``good_list`` omits because they contain a line break."""
        skipped = self.skipped
        return tuple(
            file.name
            for file in list_samples(self.dataset)
            if file.name not in skipped and not fits_list(file)
        )

    def describe_skipped(self) -> str:
        """Return a sentence with the number of files that a program must skip, by level."""
        counts: dict[str, int] = {
            level: sum(map(_is_file, self.of_level(level))) for level in LEVELS[:2]
        }
        if load_source(self.dataset.kind).lists_files:
            counts["with a line break in the name"] = len(self.unlistable)
        words = ", ".join(f"{count:,} {level}" for level, count in counts.items() if count)
        total = sum(counts.values())
        number = f"{total:,} of {self.count:,} files of {self.dataset} are skipped"
        return f"{number} ({words})" if words else number

    def bad_list(self) -> bytes:
        """Return the paths of bad and damaged files, one per line.

        Paths with a line break are omitted.
        """
        named = self.of_level("bad", "damaged")
        files = (file for file in list_samples(self.dataset) if file.path and file.nbytes != 0)
        paths = {file.name: file.path for file in files if fits_list(file)}
        return b"".join(
            os.fsencode(os.path.abspath(paths[one.file])) + b"\n"
            for one in named
            if one.file in paths
        )


@checked(full=FLAG, on_progress=FUNCTION, stop=FUNCTION)
@with_progress_bar(count_bar)
def check_folder(
    data: Location,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    stop: Callable[[], bool] = lambda: False,
    full: bool = True,
    again: bool = False,
    roots: Roots | None = None,
    on_silence: Callable[[bool], None] = warn_of_silence,
) -> FolderCheck:
    """Check every file of a dataset. No file is changed.

    A full check decodes each file as DALI does and takes as long as decoding; otherwise only the
    header and the end are read (0.1 ms per file and core). Results of an earlier check are reused
    for unchanged files unless ``again`` is True, so a stopped check continues. ``on_progress`` is
    called with the number of checked files and the total; ``stop`` is called after each file and
    cancels the check if it returns True. ``on_silence`` is the callback of ``Engine``. A file
    outside the ``roots`` counts as bad and is not read. Raises DataError if the dataset cannot be
    read or contains no file, EngineError if no worker starts, and CancelledError if ``stop``
    cancels the check.

    ::

        found = wb.check_folder("photos", full=False)
        assert found.count == 120 and not found.bad
    """
    dataset = open_dataset(data)
    roots = None if dataset.in_memory else roots
    files = [file.with_location() for file in list_samples(dataset)]
    if not any(file.counted for file in files):
        raise DataError(no_files_reason(dataset))
    record = CheckRecord(dataset, full)
    inside = [file for file in files if roots is None or not check_outside_roots(roots, file)]
    checked = {} if again else _unchanged(record, inside)
    todo = [file for file in files if file.name not in checked]
    done = len(files) - len(todo)
    on_progress(done, len(files))
    for part in _recorded(record, check_each(todo, full, stop, roots, on_silence)):
        checked[part.file] = part
        done += 1
        on_progress(done, len(files))
    every = [checked[name] for name in dict.fromkeys(file.name for file in files)]
    record.replace(every)

    def check_cancelled() -> None:
        if stop():
            raise CancelledError("Cancelled.")

    by_name = {file.name: file for file in files}
    frames = load_source(dataset.kind).decodes_images  # similar ones are next to each other
    like = {} if frames else find_duplicates(every, by_name, check_cancelled)
    broken = {file.name: LINE_BREAK for file in files if not fits_list(file)}
    for more in (broken, like):
        every = [
            replace(one, findings=(*one.findings, more[one.file])) if one.file in more else one
            for one in every
        ]
    count = sum(file.counted for file in files)
    notes = tuple(describe_not_read(dataset))
    return FolderCheck(dataset, count, full, tuple(one for one in every if one.findings), notes)


def _is_file(entry: CheckedFile) -> bool:
    """Return whether an entry is a file and not a finding that belongs to no sample."""
    return all(finding.kind != "of no sample" for finding in entry.findings)


def _unchanged(record: CheckRecord, files: Sequence[Sample]) -> dict[str, CheckedFile]:
    """Return the cached results of files with the same size and modification time, by name."""
    known = record.load()
    found: dict[str, CheckedFile] = {}
    for file in (each for each in files if known and not each.fault):
        one = known.get(file.name)
        try:
            facts = os.stat(file.path)
        except OSError:
            continue
        if one is not None and (one.size, one.modified) == (facts.st_size, facts.st_mtime_ns):
            found[file.name] = one
    return found


def _recorded(record: CheckRecord, checked: Iterator[CheckedFile]) -> Iterator[CheckedFile]:
    """Yield the results and write them to the cache, even if the iteration is aborted."""
    waiting: list[CheckedFile] = []
    try:
        for one in checked:
            waiting.append(one)
            yield one
            if len(waiting) >= _KEPT_AT_ONCE:
                record.append(waiting)
                waiting = []
    finally:
        if waiting:
            record.append(waiting)


_READ_AT_ONCE = 2**20


def find_duplicates(
    checked: Sequence[CheckedFile],
    samples: Mapping[str, Sample],
    check_cancelled: Callable[[], None],
) -> dict[str, Finding]:
    """Return a finding for each duplicate file, by name. The finding names the first equal file.

    ``samples`` maps names to samples. Files are duplicates if their bytes are equal. Images are
    near-duplicates if their ``image_hash`` is equal, which only a full check computes.
    """
    usable = [one for one in checked if one.level != "bad"]
    found: dict[str, Finding] = {}
    for same in _same_bytes(usable, samples, check_cancelled):
        for file in same[1:]:
            found[file] = Finding("duplicate", f"the same as {same[0]}")
    once = [one for one in usable if one.file not in found]
    for place, first in similar_pairs([one.image_hash for one in once]):
        other = once[first].file
        found[once[place].file] = Finding("near duplicate", f"looks like {other}")
    return found


def _same_bytes(
    checked: Sequence[CheckedFile],
    samples: Mapping[str, Sample],
    check_cancelled: Callable[[], None],
) -> list[list[str]]:
    """Return the names of identical files as lists. Only files of equal size are compared."""
    by_size: dict[int, list[str]] = defaultdict(list)
    for one in checked:
        by_size[one.size].append(one.file)
    alike = [file for files in by_size.values() if len(files) > 1 for file in files]
    groups: dict[bytes, list[str]] = defaultdict(list)
    with ThreadPoolExecutor(max_workers=usable_cores()) as pool:
        digests = pool.map(_digest, [samples[file] for file in alike])
        for file, digest in zip(alike, digests, strict=True):
            if digest:
                groups[digest].append(file)
            try:
                check_cancelled()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    return [files for files in groups.values() if len(files) > 1]


def _digest(sample: Sample) -> bytes:
    try:
        with sample.open() as file:
            digest = hashlib.blake2b()
            for part in iter(lambda: file.read(_READ_AT_ONCE), b""):
                digest.update(part)
            return digest.digest()
    except OSError:
        return b""  # deleted in the meantime


# Cache of earlier checks, so that a stopped check continues.
#
# One file per folder and kind of check in the user's cache (XDG Base Directory Specification 0.8)::
#
#     $XDG_CACHE_HOME/dali-workbench/checks/<hash of the folder>-full.jsonl

_VERSION = 3
"""Version of cached results. Increase it when checks of unchanged files find something else."""


def cache_folder() -> Path:
    """Return the workbench's cache folder, which may not exist yet."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    return root / "dali-workbench"


class CheckRecord:
    """Cached results of one dataset. Errors while writing the cache are ignored."""

    def __init__(self, dataset: Dataset, full: bool) -> None:
        # Boxes of records are faults of one kind only.
        read = f"{dataset.kind}\n{dataset.identity}"
        name = hashlib.sha256(os.fsencode(read)).hexdigest()[:24]
        kind = "full" if full else "quick"
        self.path = cache_folder() / "checks" / f"{name}-{kind}.jsonl"
        self._kept = not dataset.in_memory  # deleted with its process

    def load(self) -> dict[str, CheckedFile]:
        """Return all cached results, by file name."""
        known: dict[str, CheckedFile] = {}
        with suppress(OSError), self.path.open(encoding="ascii") as lines:
            for line in lines:
                if (one := _read(line)) is not None:
                    known[one.file] = one
        return known

    def append(self, files: Iterable[CheckedFile]) -> None:
        """Add results to the cache."""
        self._write("a", self.path, files)

    def replace(self, files: Iterable[CheckedFile]) -> None:
        temporary = self.path.with_suffix(f".{os.getpid()}")
        self._write("w", temporary, files)
        with suppress(OSError):
            os.replace(temporary, self.path)

    def _write(self, mode: str, path: Path, files: Iterable[CheckedFile]) -> None:
        if not self._kept:
            return
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with path.open(mode, encoding="ascii") as file:
                file.writelines(_lines(files))


def _lines(files: Iterable[CheckedFile]) -> Iterator[str]:
    for one in files:
        findings = [[finding.kind, finding.reason] for finding in one.findings]
        row = [_VERSION, one.file, one.size, one.modified, findings, one.image_hash.hex()]
        yield json.dumps(row) + "\n"  # ASCII: names need not be UTF-8


def _read(line: str) -> CheckedFile | None:
    """Parse a line of the cache. Returns None if it is truncated or from another version."""
    try:
        version, file, size, modified, findings, image_hash = json.loads(line)
        found = tuple(Finding(kind, reason) for kind, reason in findings if kind in KINDS)
        known = CheckedFile(file, int(size), int(modified), found, bytes.fromhex(image_hash))
    except (ValueError, TypeError):
        return None
    return known if version == _VERSION else None


# A check as a self-contained web page with thumbnails.

PICTURES = 1_000
"""Maximum number of thumbnails in the HTML report, 3 kB each."""
_SIDE = 96
_STYLE = """
body { font: 14px/1.4 system-ui, sans-serif; margin: 2rem; color: #222; background: #fff }
table { border-collapse: collapse } td, th { padding: .3rem .8rem; text-align: left }
tr { border-top: 1px solid #ddd } img { display: block; max-width: 96px; max-height: 96px }
.bad b { color: #b00020 } .damaged b { color: #9a5b00 } code { overflow-wrap: anywhere }
"""


def html_report(check: FolderCheck) -> str:
    """Return an HTML page with a summary and a table of files with findings, worst first."""
    samples = {file.name: file for file in list_samples(check.dataset)}
    order = [*check.bad, *check.of_level("damaged"), *check.of_level("unusual")]
    rows = [
        _row(one, _picture(samples.get(one.file)) if number < PICTURES else "")
        for number, one in enumerate(order)
    ]
    counts = "".join(f"<tr><td>{escape(kind)}<td>{count:,}" for kind, count in check.counts.items())
    title = escape(f"Check of {printable(str(check.dataset))}")
    decoded = "each decoded" if check.decoded == check.count else f"{check.decoded:,} decoded"
    how = decoded if check.full else "by their headers"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style><h1>{title}</h1><p>{check.count:,} files, {how}: "
        f"{len(check.bad):,} bad, {len(check.of_level('damaged')):,} damaged.</p>"
        f"<table>{counts}</table><table><tr><th>Picture<th>File<th>Found{''.join(rows)}</table>"
        "</html>\n"
    )


def _row(entry: CheckedFile, picture: str) -> str:
    found = "".join(
        f'<div class="{f.level}"><b>{escape(f.kind)}</b> {escape(printable(f.reason))}</div>'
        for f in entry.findings
    )
    return f"<tr><td>{picture}<td><code>{escape(printable(entry.file))}</code><td>{found}"


def _picture(sample: Sample | None) -> str:
    """Return a thumbnail as an ``img`` element, or "" if the image cannot be opened."""
    try:
        if sample is None or not os.path.isfile(sample.path):
            return ""
        with sample.open() as file, pillow_warnings_ignored():
            image = open_image(file)
            if isinstance(image, Finding) or large_image(image):
                return ""
            image.draft("RGB", (_SIDE, _SIDE))
            small = ImageOps.exif_transpose(image)
            small.thumbnail((_SIDE, _SIDE))
            buffer = io.BytesIO()
            small.convert("RGB").save(buffer, "JPEG", quality=75)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return ""
    data = base64.b64encode(buffer.getvalue()).decode()
    return f'<img alt="" src="data:image/jpeg;base64,{data}">'
