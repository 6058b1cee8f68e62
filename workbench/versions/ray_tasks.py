"""Render shards as tasks of a Ray cluster, which runs a shard again if its machine is lost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from workbench.arguments import require_library
from workbench.engine.protocol.progress import Progress
from workbench.errors import EngineError, WorkbenchError
from workbench.versions.plan import Task, VersionPlan
from workbench.versions.processes import RunProgress
from workbench.versions.records import read_records, record_path

_RETRIES = 3
_THREADS = 2
"""Cores of each task."""
LOCAL = "local"
"""Address that starts Ray on this machine."""


def render_with_ray(
    folder: Path,
    plan: VersionPlan,
    tasks: Sequence[Task],
    address: str,
    workers: int | None,
    on_progress: Progress,
) -> None:
    """Render those shards that are not complete yet, as Ray tasks.

    ``address`` is that of a cluster, ``auto``, or ``local``. ``workers`` limits the shards that run
    at once. Every machine must have the data and ``folder`` at the same paths. Raises
    MissingLibraryError without ray, and EngineError if there is no cluster or a shard fails.
    """
    require_library("ray", "render(ray=...)")
    import ray

    missing = [task for task in tasks if not record_path(folder, task).is_file()]
    if not missing:
        return
    starts = not ray.is_initialized()
    try:
        if starts:
            ray.init(address=None if address == LOCAL else address, log_to_driver=False)
    except ConnectionError as error:
        raise EngineError(
            f"There is no Ray cluster at {address!r}: {error}. Start one with `ray start --head`, "
            f"or pass {LOCAL!r} to start Ray on this machine."
        ) from None
    try:
        remote = ray.remote(num_cpus=_THREADS, max_retries=_RETRIES)(_render_task)
        counter = RunProgress(plan, missing, on_progress)
        waiting, running = list(reversed(missing)), dict[object, Task]()
        most = workers or len(missing)
        while waiting or running:
            while waiting and len(running) < most:
                task = waiting.pop()
                running[remote.remote(str(folder), list(task), _THREADS)] = task
            ready, _ = ray.wait(list(running), num_returns=1)
            for each in ready:
                task = running.pop(each)
                try:
                    failure = ray.get(each)
                except ray.exceptions.RayError as error:
                    failure = (
                        f"{task.name} failed {_RETRIES + 1} times: {str(error).splitlines()[0]}"
                    )
                if failure:
                    raise EngineError(f"{failure.rstrip('.')}.")
                counter.add(read_records(record_path(folder, task))[0].samples)
    finally:
        if starts:
            ray.shutdown()


def _render_task(folder: str, task: list[str | int], threads: int) -> str:
    """Render one shard in a process of Ray. Returns the reason if that is impossible, or ""."""
    from workbench.graph.user_functions.trust import trust_everything
    from workbench.versions.records import WORK
    from workbench.versions.shard import ShardRenderer

    if not (Path(folder) / WORK / "plan.json").is_file():
        return (
            f"{folder} does not exist on a machine of the cluster. Use a folder that all machines "
            "share"
        )
    trust_everything()  # the caller renders only graphs whose code is trusted
    try:
        ShardRenderer(Path(folder), threads).render(Task(*task))  # type: ignore[arg-type]
    except (WorkbenchError, OSError) as error:
        return str(error)
    return ""
