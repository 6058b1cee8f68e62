"""Write datasets without their faulty samples to files that an exported program can read."""

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
    """Datasets without some of their samples, written as file lists or folders of links.

    The files are in a temporary folder that is deleted with this object. ``place`` copies them next
    to a program.

    Parameters
    ----------
    complete:
        The complete dataset of each parameter.
    skipped:
        Names of the samples to exclude for each parameter.

    Raises DataError if no sample of a dataset remains, or if its kind cannot exclude samples.
    """

    def __init__(self, complete: Datasets, skipped: Mapping[str, Collection[str]]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="workbench-good-")
        self.endings: Mapping[str, str] = {}
        """Suffix of each dataset's path, to be appended to the program's path without ``.py``."""
        self.datasets: Datasets = {}
        """The datasets without the excluded samples, in the temporary folder."""
        for name, dataset in complete.items():
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
            raise DataError(
                f"{dataset} has no usable sample. Run `workbench check` to see the reasons."
            )
        ending = f".good_{name}.txt" if kind.lists_files else f".good_{name}"
        return os.fspath(write_remaining(dataset, skipped, Path(self._folder.name, _STEM + ending)))

    def sources(self, program: Path) -> dict[Path, Path]:
        """Return the temporary path of each data file, by its future path next to ``program``."""
        names = {ending.split(os.sep)[0] for ending in self.endings.values()}
        # Programs build the path in the same way: only these two suffixes are removed.
        stem = program.name.removesuffix(".py").removesuffix(".ipynb")
        return {
            program.with_name(stem + name): Path(self._folder.name, _STEM + name)
            for name in sorted(names)
        }

    def place(self, program: Path) -> list[Path]:
        """Copy the data next to a program and return the new paths.

        An existing list is replaced. Raises OSError, and FileExistsError for an existing folder.
        """
        for path, source in self.sources(program).items():
            if source.is_dir():
                shutil.copytree(source, path, symlinks=True)
            else:
                shutil.copyfile(source, path)
        return [*self.sources(program)]
