"""Data without their bad samples, written so that a program can read them from beside itself."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from workbench.errors import DataError
from workbench.sources import Dataset, Datasets, load_source, write_without

_STEM = "program"


class GoodData:
    """Datasets without some of their samples: lists of files, or folders of links and indices.

    They are written to a temporary folder, which is deleted with this object. ``place`` copies
    them next to a program.

    Parameters
    ----------
    given:
        The dataset of each parameter.
    skipped:
        For each parameter the names of the samples that are skipped.

    Raises DataError where a dataset has no other sample, or is of a kind that can skip none.
    """

    def __init__(self, given: Datasets, skipped: Mapping[str, Collection[str]]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="workbench-good-")
        self.endings: Mapping[str, str] = {}
        """What follows the program's name, without its suffix, in the path of each dataset."""
        self.datasets: Datasets = {}
        """What is left of each dataset, in the temporary folder."""
        for name, dataset in given.items():
            path = self._write(name, dataset, skipped[name])
            ending = os.path.relpath(path, self._folder.name).removeprefix(_STEM)
            self.endings = {**self.endings, name: ending}
            left = replace(dataset, location=path, items=(), title=str(dataset))
            self.datasets = {**self.datasets, name: left}

    def _write(self, name: str, dataset: Dataset, skipped: Collection[str]) -> str:
        kind = load_source(dataset.kind)
        if dataset.in_memory or not kind.is_listed:
            raise DataError(
                f"{dataset} is a {kind.about}, of which no list can be written. Leave bad samples "
                "out where it is made."
            )
        if all(sample.name in skipped for sample in kind.list_samples(dataset)):
            raise DataError(f"No sample of {dataset} can be used.")
        ending = f".good_{name}.txt" if kind.lists_files else f".good_{name}"
        return os.fspath(write_without(dataset, skipped, Path(self._folder.name, _STEM + ending)))

    def sources(self, program: Path) -> dict[Path, Path]:
        """The files and folders that belong next to a program, and where they are now."""
        names = {ending.split(os.sep)[0] for ending in self.endings.values()}
        # As programs form the path: only these two suffixes are left out.
        stem = program.name.removesuffix(".py").removesuffix(".ipynb")
        return {
            program.with_name(stem + name): Path(self._folder.name, _STEM + name)
            for name in sorted(names)
        }

    def place(self, program: Path) -> list[Path]:
        """Copy the data next to a program, and return the paths of the copies. Raises OSError.

        A list replaces one that is there. A folder is not replaced: FileExistsError.
        """
        for path, source in self.sources(program).items():
            if source.is_dir():
                shutil.copytree(source, path, symlinks=True)
            else:
                shutil.copyfile(source, path)
        return [*self.sources(program)]
