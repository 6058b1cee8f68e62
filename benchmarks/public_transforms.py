"""Import public compositions from a folder of files.

    python -m benchmarks.public_transforms FOLDER

``FOLDER`` holds public repositories, each as ``owner+name`` (``public_transforms.toml`` lists them
with commits, and the files that are read). A file's compositions are read as they are; those in
functions by calling these with stand-ins.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workbench.engine.importing import from_file
from workbench.errors import WorkbenchError
from workbench.graph.storage.import_report import ImportReport

LISTED = Path(__file__).with_suffix(".toml")
_NAMES = re.compile(r"has \d+ compositions: (.*)\. Select one")
_DATASETS = frozenset({"readers.file", "decoders.image"})


@dataclass(frozen=True)
class Outcome:
    """One composition."""

    place: str
    report: ImportReport | None
    why: str = ""
    operators: tuple[str, ...] = ()


def outcomes(file: Path, place: str, name: str | None = None) -> Iterator[Outcome]:
    """Those of a file, of one of its functions, or the one of that name."""
    where = f"{place}:{name}" if name else place
    try:
        found = from_file(file, name, seconds=40)
    except WorkbenchError as error:
        several = _NAMES.search(str(error))
        if several and (name is None or ":" not in name):
            for each in several[1].split(", "):
                yield from outcomes(file, place, each)
            return
        yield Outcome(where, None, " ".join(str(error).split())[:300])
        return
    operators = tuple(node.op for node in found.graph.walk() if node.op not in _DATASETS)
    if operators:  # something is composed
        yield Outcome(where, found.report, operators=operators)


def _listed(folder: Path) -> Iterator[Path]:
    for row in tomllib.loads(LISTED.read_text())["repository"]:
        for path in row["files"]:
            file = folder / row["name"].replace("/", "+") / path
            if file.exists():
                yield file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="those whose path holds this text")
    args = parser.parse_args()
    whole, partly, failed = 0, 0, 0
    left_out: Counter[str] = Counter()
    for file in _listed(args.folder):
        if args.only not in str(file):
            continue
        for each in outcomes(file, str(file.relative_to(args.folder))):
            if each.report is None:
                failed += 1
                print(f"not read  {each.place}: {each.why}")
            elif each.report.refused:
                partly += 1
                left_out.update(entry.node for entry in each.report.refused)
                names = ", ".join(f"{e.node} ({e.why})" for e in each.report.refused)
                print(f"partly    {each.place}: {names}")
            else:
                whole += 1
                print(f"wholly    {each.place}")
            sys.stdout.flush()
    print(f"{whole} wholly, {partly} partly, {failed} not read; left out: {left_out.most_common()}")


if __name__ == "__main__":
    main()
