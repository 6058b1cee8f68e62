"""Datasets without their faulty samples, stored where an exported program can read them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from workbench.errors import DataError
from workbench.sources import Dataset, Datasets, load_source, write_remaining

_STEM = "program"


class GoodData:
    """Datasets without some of their samples: lists of files, or folders of links and indices.

    They are written to a temporary folder that is deleted with this object. ``place`` copies them
    next to a program.

    Parameters
    ----------
    given:
        The dataset of each parameter.
    skipped:
        The names of the skipped samples of each parameter.

    Raises DataError if no sample of a dataset remains, or if its kind cannot exclude samples.
    """

    def __init__(self, given: Datasets, skipped: Mapping[str, Collection[str]]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="workbench-good-")
        self.endings: Mapping[str, str] = {}
        "Suffix of each dataset's path, appended to the program's name without ``.py``."
        self.datasets: Datasets = {}
        "The reduced datasets in the temporary folder."
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
                f"{dataset} is a {kind.about}, which cannot exclude samples. Remove the "
                "faulty samples where the data are created."
            )
        if all(sample.name in skipped for sample in kind.list_samples(dataset)):
            raise DataError(f"{dataset} has no usable sample.")
        ending = f".good_{name}.txt" if kind.lists_files else f".good_{name}"
        return os.fspath(write_remaining(dataset, skipped, Path(self._folder.name, _STEM + ending)))

    def sources(self, program: Path) -> dict[Path, Path]:
        """Map each path that belongs next to a program to its current location."""
        names = {ending.split(os.sep)[0] for ending in self.endings.values()}
        # Programs build the path in the same way: only these two suffixes are removed.
        stem = program.name.removesuffix(".py").removesuffix(".ipynb")
        return {
            program.with_name(stem + name): Path(self._folder.name, _STEM + name)
            for name in sorted(names)
        }

    def place(self, program: Path) -> list[Path]:
        """Copy the data next to a program and return the new paths. Raises OSError.

        An existing list is replaced. An existing folder is not: FileExistsError.
        """
        for path, source in self.sources(program).items():
            if source.is_dir():
                shutil.copytree(source, path, symlinks=True)
            else:
                shutil.copyfile(source, path)
        return [*self.sources(program)]
