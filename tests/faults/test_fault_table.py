"""Every fault in every kind of work in every host, as one table (``make soak`` prints it)."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest

from tests.engine.tasks import until
from tests.faults.harm import full_disk, hit, slow_script, vanish
from tests.faults.hosts import PATIENCE, AppHost, Command, Host, KernelHost, workers
from tests.faults.table import Row, Table
from workbench.graph import dump_graph, load_recipe
from workbench.graph.edits.edit import set_setting

T = TypeVar("T")
WORDS = {
    "SIGKILL": "SIGKILL",
    "SIGSTOP": "SIGSTOP",
    "memory limit": "address space|Out of memory|memory is exhausted|memory is exhausted",
    "data gone": "There is no|no folder|No such file|cannot be read|not found|disappeared",
    "disk full": "too large|space",
}
"""What a message must have of each fault."""
EARLIER = {"SIGSTOP": "does not answer|SIGSTOP"}
"""Messages before the fault is identified."""
HOSTS = ("JupyterLab", "web app", "shell")
WORK = ("preview", "bench", "stages", "tune", "verify", "import", "export", "save")
MEASUREMENTS = ("bench", "stages", "tune")
WENT_ON = "it went on"
TUNE = {"search": "all", "threads": "1", "batches": "4", "prefetch": "1, 2", "loads": ""}
BENCH = ("--device", "cpu", "--regime", "pipeline", "--budget", "0.5", "--json", "speed.json")
GRID = ("--threads", "1", "--batch-sizes", "4", "--prefetch", "1,2")


def cases() -> Iterator[Any]:
    for host in HOSTS:
        for work in WORK:
            for fault in WORDS:
                if not applies(host, work, fault):
                    continue
                first = (host, work, fault) == ("web app", "preview", "SIGKILL")
                kind = pytest.mark.thorough if first else pytest.mark.soak
                marks = (kind, pytest.mark.timeout(600))
                yield pytest.param(host, work, fault, marks=marks, id=f"{host}-{work}-{fault}")


def applies(host: str, work: str, fault: str) -> bool:
    """Whether the combination exists: a page imports nothing, and exporting runs no worker."""
    if work == "import":
        elsewhere = fault == "disk full" and host != "shell"  # nothing is written there
        return host != "web app" and fault != "data gone" and not elsewhere
    if work in ("export", "save"):
        return fault == "disk full" and (work, host) != ("save", "shell")
    return True


@pytest.fixture(scope="module")
def table(pytestconfig: pytest.Config) -> Iterator[Table]:
    folder = os.environ.get("OUT") or pytestconfig.rootpath / "build"
    found = Table(Path(folder, "faults.txt"))
    yield found
    print(f"\n\n{found}\n\nAlso in {found.path}")


@pytest.fixture
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose name says nothing of the fault, for messages quote it."""
    return tmp_path_factory.mktemp("work")


@pytest.fixture
def data(work: Path, photos: Path) -> Path:
    shutil.copytree(photos, work / "photos")  # a fault may take them away
    return work / "photos"


@pytest.fixture
def graph(work: Path) -> Path:
    path = work / "start.json"
    path.write_text(
        dump_graph(set_setting(load_recipe("rotate-jitter"), batch_size=4, num_threads=1))
    )
    return path


@pytest.mark.parametrize(("host", "operation", "fault"), list(cases()))
def test_fault(
    host: str, operation: str, fault: str, data: Path, graph: Path, work: Path, table: Table
) -> None:
    row = Row(host, operation, fault)
    table.rows.append(row)
    try:
        if host == "shell":
            in_a_shell(row, data, graph, work)
        else:
            made: Host = (KernelHost if host == "JupyterLab" else AppHost)(data, graph, work)
            try:
                in_a_host(row, made, data, work)
            finally:
                made.close()
    except BaseException as error:
        row.message = f"FAILED: {error}".splitlines()[0]
        raise
    finally:
        print(f"\n{row}")
        table.write()
    assert row.alive
    assert row.kept
    assert row.message


# A page or a widget


def in_a_host(row: Row, host: Host, data: Path, work: Path) -> None:
    wait_for(host, lambda: '"ready"' in status(host), "the first of several")
    saved = host.field("bar", "saved")
    value = [7]

    def change() -> None:
        value[0] += 1
        message = {"do": "set", "node": "rotate", "arg": "fill_value", "value": value[0]}
        host.ask("inspector", message)

    resting = {worker.pid for worker in workers(host.pid)}
    with ExitStack() as stack:
        undergo(row, host, data, work, stack, resting, change)
        row.message = said(row, host)
    row.kept = work_is_kept(row, host, saved)
    before, began = host.field("preview", "picture"), time.monotonic()
    change()
    wait_for(host, lambda: host.field("preview", "picture") != before, "a picture again")
    wait_for(host, lambda: '"ready"' in status(host), "the end of it")
    row.again = time.monotonic() - began
    row.alive = psutil.pid_exists(host.pid)


def undergo(
    row: Row,
    host: Host,
    data: Path,
    work: Path,
    stack: ExitStack,
    resting: set[int],
    change: Callable[[], None],
) -> None:
    """Start the work, inject the fault, and wait until it is reported and over."""
    row.happens()
    if row.fault == "disk full":
        full_disk(host.pid, stack)
    if row.work == "preview":
        before = host.field("preview", "picture")
        if row.fault in ("SIGKILL", "SIGSTOP", "memory limit"):
            (worker,) = workers(host.pid)
            hit(worker, "SIGSTOP" if row.fault == "SIGKILL" else row.fault)
            change()
            if row.fault == "SIGKILL":  # in the midst of a call
                wait_for(host, lambda: "computing" in status(host), "the call")
                row.happens()
                hit(worker, row.fault)
        else:
            vanish(row, data, stack)
            host.set("preview", "batch", 3)
        if not goes_on(row):
            said(row, host, earlier=True)
        wait_for(
            host,
            lambda: host.field("preview", "picture") != before or is_told(host),
            "a picture or a word",
        )
        return
    if row.work in ("export", "save"):
        host.ask("bar", {"do": row.work, "path": "kept"})
        return
    if row.work == "import":
        imported(row, host, work, resting)
        said(row, host, earlier=True)
        return
    begin_measurement(row, host)
    if row.fault != "disk full":
        found = wait_for(host, lambda: new_workers(host, resting), "a worker of its own")
        row.happens()
        if row.fault == "data gone":
            vanish(row, data, stack)
        else:
            hit(found[0], row.fault)
    said(row, host, earlier=True)
    wait_for(host, lambda: has_ended(row, host), "the end", 2 * PATIENCE)


def begin_measurement(row: Row, host: Host) -> None:
    if row.work == "verify":
        host.ask("preview", {"do": "verify"})
        return
    host.set("speed", "effort", "quick")
    if row.work == "tune":
        host.ask("speed", {"do": "tune", **TUNE, "memory": ""})
    else:
        host.ask("speed", {"do": "measure", "what": {"bench": "compare"}.get(row.work, row.work)})
    wait_for(host, lambda: host.field("speed", "running") == "True", "the begin")


def has_ended(row: Row, host: Host) -> bool:
    if row.work == "verify":
        return "running" not in host.field("preview", "verification")
    return host.field("speed", "running") == "False"


def imported(row: Row, host: Host, work: Path, resting: set[int]) -> None:
    assert isinstance(host, KernelHost)
    script = slow_script(work)
    host.run(
        "import threading\nfailed = []\n"
        "def attempt():\n    try:\n        wb.from_file(" + repr(str(script)) + ")\n"
        "    except wb.errors.WorkbenchError as error:\n        failed.append(str(error))\n"
        "threading.Thread(target=attempt).start()"
    )
    found = wait_for(host, lambda: new_workers(host, resting), "its worker")
    until(lambda: (work / "began").exists(), PATIENCE)
    row.happens()
    hit(found[0], row.fault)


def work_is_kept(row: Row, host: Host, saved: str) -> bool:
    """All but what the fault's own change did is as it was."""
    now = host.field("bar", "saved")
    return [node["id"] for node in json.loads(now)["nodes"]] == [
        node["id"] for node in json.loads(saved)["nodes"]
    ]


def status(host: Host) -> str:
    return host.field("bar", "status").replace("'", '"')


def is_told(host: Host) -> bool:
    return not re.search('"(ready|busy)"', status(host))


SHOWN = (
    ("bar", "status"), ("bar", "message"), ("preview", "stale"), ("preview", "verification"),
    ("speed", "message"), ("speed", "compare"), ("speed", "stages"), ("speed", "tune"),
)  # fmt: skip


def said(row: Row, host: Host, earlier: bool = False) -> str:
    """The message about the fault on the screen, or the result if the fault is harmless.

    ``earlier``: those too that tell of it before it is known what it is.
    """
    pattern = EARLIER.get(row.fault, WORDS[row.fault]) if earlier else WORDS[row.fault]
    found: list[str] = []

    def look() -> bool:
        for text in shown(row, host):
            for sentence in re.split(r"(?<=[.!?])\s|\"|\B'|'\B", text):
                if re.search(pattern, sentence):
                    found.append(sentence)
                    return True
        return goes_on(row) and '"ready"' in status(host) and not host.field("bar", "message")

    wait_for(host, look, f"words like {pattern}")
    if not found:
        return WENT_ON
    row.is_told()
    return found[0].strip()[:160]


def shown(row: Row, host: Host) -> Iterator[str]:
    if row.work == "import":
        assert isinstance(host, KernelHost)
        yield host.printed()
        yield from host.run("", "failed")
    for component, field in SHOWN:
        yield host.field(component, field)


def goes_on(row: Row) -> bool:
    """Whether it does no harm: a preview writes nothing."""
    return (row.work, row.fault) == ("preview", "disk full") and row.host != "shell"


def new_workers(host: Host, resting: set[int]) -> list[psutil.Process]:
    return [worker for worker in workers(host.pid) if worker.pid not in resting]


def wait_for(host: Host, holds: Callable[[], T], what: str, seconds: float = PATIENCE) -> T:
    """The result of ``holds`` once it is true."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        shown = {f"{c}.{f}": host.field(c, f)[:300] for c, f in SHOWN}
        assert time.monotonic() < deadline, f"{what} never came: {shown}"
        with suppress(AssertionError):
            until(lambda: False, 0.05)
    return found


# A command


def in_a_shell(row: Row, data: Path, graph: Path, work: Path) -> None:
    words = words_of(row.work, data, graph, work)
    before = graph.read_text()
    limit = "ulimit -f 0" if row.fault == "disk full" else ""
    with ExitStack() as stack:
        row.happens()
        command = Command(words, work, limit)
        if not limit:
            until(lambda: bool(workers(command.pid)), PATIENCE)
            if row.work == "import":
                until(lambda: (work / "began").exists(), PATIENCE)
            row.happens()
            if row.fault == "data gone":
                vanish(row, data, stack)
            else:
                hit(workers(command.pid)[0], row.fault)
        for line in command.lines():
            if re.search(EARLIER.get(row.fault, WORDS[row.fault]), line):
                row.is_told()
        code, out = command.end()
    found = [line for line in out.splitlines() if re.search(WORDS[row.fault], line)]
    row.message = found[-1].strip()[:160] if found else ""  # the first may tell how far it is
    assert row.message, out
    assert "Traceback" not in out, out
    # a file that cannot be written is refused as an option, before long work
    refused = row.fault == "disk full" and "Invalid value for" in out
    # a setting that cannot be measured is no reason to give up the others
    assert code == (2 if refused else 1) or (row.work, code) == ("tune", 0), out
    row.kept = graph.read_text() == before
    (work / "began").unlink(missing_ok=True)
    if row.work == "import":
        slow_script(work, seconds=0)
    began = time.monotonic()
    again = Command(words, work)
    code, out = again.end()
    row.again = time.monotonic() - began
    row.alive = code == 0
    assert code == 0, out


def words_of(work: str, data: Path, graph: Path, folder: Path) -> list[str]:
    source, read = str(graph), ["--data", str(data)]
    return {
        "preview": ["preview", source, *read, "-o", "sheet.png"],
        "bench": ["bench", source, *read, *BENCH],
        "stages": ["stages", source, *read, "--quick", "--json", "stages.json"],
        "tune": ["tune", source, *read, *GRID, "-o", "tuned.json"],
        "verify": ["verify", source, *read, "--batches", "2"],
        "import": ["import", str(slow_script(folder)), "-o", "imported.json"],
        "export": ["export", source, "-o", "pipe.py"],
    }[work]
