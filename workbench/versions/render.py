"""Render a version: plan it, run its shards in worker processes, and write its manifest."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from workbench.arguments import FLAG, TEXT, WHOLE, checked, require_library
from workbench.engine.protocol.progress import Progress, one_line_interrupt, with_progress_bar
from workbench.errors import CancelledError, EngineError, SaveError
from workbench.graph.model import GRAPH, Graph
from workbench.sources import (
    Data,
    open_datasets,
)
from workbench.sources.opening import VERSION_FILE
from workbench.system_limits import describe_refusal
from workbench.versions.manifest import (
    UNFINISHED,
    Version,
    open_version,
    write_version,
)
from workbench.versions.plan import (
    VersionPlan,
    load_plan,
)
from workbench.versions.planning import plan_version, write_inputs
from workbench.versions.processes import render_shards, require_workers
from workbench.versions.records import MANIFEST, WORK, record_path


@with_progress_bar()
@one_line_interrupt()
@checked(graph=GRAPH, format=TEXT, copies=WHOLE, originals=FLAG, arrays=FLAG)
def render(
    graph: Graph,
    output: str | Path,
    data: Data | None = None,
    *,
    copies: int = 1,
    format: str = "folder",
    split: Sequence[float] = (1.0,),
    workers: int | None = None,
    originals: bool = False,
    quality: int | None = None,
    arrays: bool = False,
    shard_size: int | None = None,
    evaluation: Graph | None = None,
    ray: str = "",
    on_progress: Progress = lambda share, text: None,
) -> Version:
    """Render every sample with a graph, and write a dataset version to a new folder.

    The version has ``copies`` of each training sample with independent random values, in the
    ``format`` ``folder``, ``coco``, ``webdataset``, ``tfrecord`` or ``parquet``. ``split`` divides
    the samples into ``train``, ``val`` and ``test``; the last two have one copy, rendered with
    ``evaluation``, by default the graph without randomness. ``originals`` adds the images as they
    were read. Pictures are PNG, or JPEG with a ``quality`` of 1 to 100. With ``arrays``, normalized
    images, and those of a type that is unknown before the run, are stored as arrays. ``workers`` is
    the number of processes; with ``ray`` (``auto``, ``local`` or an address), shards are tasks of a
    Ray cluster. ``data`` is any data in files, by default the data of the graph.

    An exception raised by ``on_progress``, such as CancelledError, ends the run within a second.
    The folder appears when it is complete. After an interruption, the same call continues, and the
    bytes are those of an uninterrupted run. Raises ArgumentError, GraphFaultsError or DataError for
    what cannot be rendered, SaveError for a folder with other files, EngineError if a shard fails.

    ::

        version = wb.render(graph, "versions/v1", "photos", copies=2, split=(0.8, 0.1, 0.1))
        print(version)
    """
    require_workers(workers)
    given = graph.datasets if data is None else open_datasets(data)
    target = Path(output).expanduser().absolute()
    on_progress(0.0, "checking the data")
    plan, samples, datasets = plan_version(
        graph,
        given or {},
        copies=copies,
        format=format,
        split=split,
        originals=originals,
        quality=quality,
        arrays=arrays,
        shard_size=shard_size,
        evaluation=evaluation,
        on_progress=on_progress,
    )
    if ray:
        require_library("ray", "render(ray=...)")
    try:
        with _locked_folder(target, plan) as folder:
            if folder is None:
                return open_version(target)
            write_inputs(folder, plan, samples, datasets)
            if ray:
                from workbench.versions.ray_tasks import render_with_ray

                render_with_ray(folder, plan, list(plan.tasks()), ray, workers, on_progress)
            else:
                render_shards(folder, plan, list(plan.tasks()), workers, on_progress)
            write_version(folder, plan)
            shutil.rmtree(folder / WORK)
            folder.rename(target)
    except CancelledError:
        raise
    except EngineError as error:
        folder = target.with_name(target.name + UNFINISHED)
        done = sum(record_path(folder, task).is_file() for task in plan.tasks())
        raise EngineError(
            f"{error} {done:,} of {len(list(plan.tasks())):,} shards are complete in {folder}: the "
            "same command continues with the others."
        ) from None
    except OSError as error:
        reason = describe_refusal(error) or error.strerror or str(error)
        raise SaveError(
            f"{target} was not completed: {reason.rstrip('.')}. The same command continues."
        ) from None
    on_progress(1.0, "done")
    return open_version(target)


@contextlib.contextmanager
def _locked_folder(target: Path, plan: VersionPlan) -> Iterator[Path | None]:
    """Yield the unfinished folder of a version, or None if the version is complete already.

    Raises SaveError if there are other files, another plan, or another process that renders.
    """
    folder = target.with_name(target.name + UNFINISHED)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        if not (target / VERSION_FILE).is_file():
            raise SaveError(f"{target} has other files. Use a new folder.")
        _require_same(open_version(target).plan, plan, target)
        yield None
        return
    with contextlib.suppress(OSError):
        target.rmdir()
    try:
        (folder / WORK).mkdir(parents=True, exist_ok=True)
        lock = (folder / WORK / "lock").open("w")
    except OSError as error:
        raise SaveError(f"{folder} cannot be written: {error.strerror}.") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SaveError(
                f"Another process renders into {folder}. Wait for it, or use another folder."
            ) from None
        stored = folder / WORK / "plan.json"
        if stored.is_file():
            begun = any((folder / MANIFEST).glob("*.jsonl"))
            if begun or not load_plan(stored.read_bytes()).differences(plan):
                _require_same(load_plan(stored.read_bytes()), plan, folder)
            else:  # no shard of the other plan is complete
                for each in folder.iterdir():
                    if each.name != WORK:
                        shutil.rmtree(each) if each.is_dir() else each.unlink()
        elif (folder / VERSION_FILE).is_file():  # it ended just before its last step
            _require_same(open_version(folder).plan, plan, folder)
        elif any(each.name != WORK for each in folder.iterdir()):
            raise SaveError(f"{folder} has other files. Move them, or use a new folder.")
        yield folder


def _require_same(stored: VersionPlan, plan: VersionPlan, folder: Path) -> None:
    if differing := stored.differences(plan):
        raise SaveError(
            f"{folder} is a version with another plan: {', '.join(differing)} differ. Use a new "
            "folder, or the settings of that version."
        )
