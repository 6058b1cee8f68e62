"""Every fault in every kind of work in every host, as one table (``make soak`` prints it)."""

from __future__ import annotations

import json
import re
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.engine.tasks import until
from tests.faults.hosts import PATIENCE, AppHost, Command, Host, KernelHost, workers
from workbench.graph import dump_graph, load_recipe
from workbench.graph.edit import set_setting
from workbench.samples import write_samples

WORDS = {
    "SIGKILL": "SIGKILL",
    "SIGSTOP": "SIGSTOP",
    "memory limit": "address space|Out of memory|want of memory|bad_alloc|memory does not",
    "data gone": "There is no|no folder|No such file|cannot be read|not found|disappeared",
    "disk full": "too large|space",
}
"""What a message must have of each fault."""
HOSTS = ("JupyterLab", "web app", "shell")
WORK = ("preview", "bench", "stages", "tune", "verify", "import", "export", "save")
MEASUREMENTS = ("bench", "stages", "tune")
ROOM = 2**20
"""Bytes that a process which meets its limit of memory may still take."""
TUNE = {"search": "all", "threads": "1", "batches": "4", "prefetch": "1, 2", "loads": ""}

BENCH = ("--device", "cpu", "--regime", "pipeline", "--budget", "0.5", "--json", "speed.json")
GRID = ("--threads", "1", "--batch-sizes", "4", "--prefetch", "1,2")


def cases() -> Iterator[Any]:
    for host in HOSTS:
        for work in WORK:
            for fault in WORDS:
                if not applies(host, work, fault):
                    continue
                quick = (host, work, fault) == ("web app", "preview", "SIGKILL")
                marks = () if quick else (pytest.mark.soak, pytest.mark.timeout(600))
                yield pytest.param(host, work, fault, marks=marks, id=f"{host}-{work}-{fault}")


def applies(host: str, work: str, fault: str) -> bool:
    """Whether there is such a thing: a page imports nothing, and exporting runs no worker."""
    if work == "import":
        elsewhere = fault == "disk full" and host != "shell"  # nothing is written there
        return host != "web app" and fault != "data gone" and not elsewhere
    if work in ("export", "save"):
        return fault == "disk full" and (work, host) != ("save", "shell")
    return True


@dataclass
class Row:
    host: str
    work: str
    fault: str
    alive: bool = False
    kept: bool = False
    message: str = ""
    message_seconds: float = 0.0
    recovery_seconds: float = 0.0

    def __str__(self) -> str:
        yes = {True: "yes", False: "NO"}
        return (
            f"{self.host:11} {self.work:8} {self.fault:13} {yes[self.alive]:6} "
            f"{yes[self.kept]:6} {self.message_seconds:7.1f} {self.recovery_seconds:9.1f}  "
            f"{self.message}"
        )


@pytest.fixture(scope="module")
def table() -> Iterator[list[Row]]:
    rows: list[Row] = []
    yield rows
    print(f"\n\n{'host':11} {'work':8} {'fault':13} alive  graph  told (s)  again (s)  message")
    print("\n".join(map(str, rows)))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_samples(tmp_path / "photos")
    return tmp_path / "photos"


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "start.json"
    path.write_text(
        dump_graph(set_setting(load_recipe("rotate-jitter"), batch_size=4, num_threads=1))
    )
    return path


@pytest.mark.parametrize(("host", "work", "fault"), list(cases()))
def test_fault(
    host: str, work: str, fault: str, data: Path, graph: Path, tmp_path: Path, table: list[Row]
) -> None:
    row = Row(host, work, fault)
    table.append(row)
    if host == "shell":
        in_a_shell(row, data, graph, tmp_path)
    else:
        made: Host = (KernelHost if host == "JupyterLab" else AppHost)(data, graph, tmp_path)
        try:
            in_a_host(row, made, data, tmp_path)
        finally:
            made.close()
    print(f"\n{row}")
    assert row.alive
    assert row.kept
    assert row.message


# A page or a widget


def in_a_host(row: Row, host: Host, data: Path, work: Path) -> None:
    wait_for(host, lambda: '"ready"' in status(host), "the first picture")
    saved = host.field("bar", "saved")
    value = [7]

    def change() -> None:
        value[0] += 1
        message = {"do": "set", "node": "rotate", "arg": "fill_value", "value": value[0]}
        host.ask("inspector", message)

    resting = {worker.pid for worker in workers(host.pid)}
    with ExitStack() as stack:
        began = time.monotonic()
        row.message = undergo(row, host, data, work, stack, resting, change)
        row.message_seconds = time.monotonic() - began
    row.kept = work_is_kept(row, host, saved)
    before, began = host.field("preview", "picture"), time.monotonic()
    change()
    wait_for(host, lambda: host.field("preview", "picture") != before, "a picture again")
    wait_for(host, lambda: '"ready"' in status(host), "the end of it")
    row.recovery_seconds = time.monotonic() - began
    row.alive = psutil.pid_exists(host.pid)


def undergo(
    row: Row,
    host: Host,
    data: Path,
    work: Path,
    stack: ExitStack,
    resting: set[int],
    change: Callable[[], None],
) -> str:
    """Begin the work, have the fault happen to it, and give what was said of it."""
    pattern = WORDS[row.fault]
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
                hit(worker, row.fault)
        else:
            vanish(row, data, stack)
            host.set("preview", "batch", 3)
        wait_for(
            host,
            lambda: host.field("preview", "picture") != before or is_told(host),
            "a picture or a word",
        )
        return said(host, pattern, may_go_well=row.fault in ("memory limit", "disk full"))
    if row.work in ("export", "save"):
        what = {"export": "export", "save": "save"}[row.work]
        host.ask("bar", {"do": what, "path": "kept"})
        return said(host, pattern)
    if row.work == "import":
        return imported(row, host, work, resting)
    begin_measurement(row, host)
    if row.fault == "data gone":
        wait_for(host, lambda: new_workers(host, resting), "a worker of its own")
        vanish(row, data, stack)
    elif row.fault != "disk full":
        wait_for(host, lambda: new_workers(host, resting), "a worker of its own")
        for worker in new_workers(host, resting)[:1]:
            hit(worker, row.fault)
    wait_for(host, lambda: has_ended(row, host), "the end", 2 * PATIENCE)
    return said(host, pattern, may_go_well=row.fault in ("memory limit", "disk full", "data gone"))


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


def imported(row: Row, host: Host, work: Path, resting: set[int]) -> str:
    assert isinstance(host, KernelHost)
    script = slow_script(work)
    host.run(
        "import threading\nfailed = []\n"
        "def attempt():\n    try:\n        wb.from_file(" + repr(str(script)) + ")\n"
        "    except wb.errors.WorkbenchError as error:\n        failed.append(str(error))\n"
        "threading.Thread(target=attempt).start()"
    )
    wait_for(host, lambda: new_workers(host, resting), "its worker")
    until(lambda: (work / "began").exists(), PATIENCE)
    hit(new_workers(host, resting)[0], row.fault)
    wait_for(host, lambda: bool(host.run("", "failed")), "the end")
    (words,) = host.run("", "failed")
    assert re.search(WORDS[row.fault], words), words
    return str(words).splitlines()[0]


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


def said(host: Host, pattern: str, may_go_well: bool = False) -> str:
    """The words on the screen that tell of the fault; where nothing failed, that."""
    found: list[str] = []

    def look() -> bool:
        for component, field in SHOWN:
            for sentence in re.split(r"(?<=[.!?])\s|\"|'", host.field(component, field)):
                if re.search(pattern, sentence):
                    found.append(sentence)
                    return True
        return may_go_well and '"ready"' in status(host) and not host.field("bar", "message")

    wait_for(host, look, f"words like {pattern}")
    return found[0][:110] if found else "it went on"


def new_workers(host: Host, resting: set[int]) -> list[psutil.Process]:
    return [worker for worker in workers(host.pid) if worker.pid not in resting]


def wait_for(host: Host, holds: Callable[[], Any], what: str, seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        shown = {f"{c}.{f}": host.field(c, f)[:300] for c, f in SHOWN}
        assert time.monotonic() < deadline, f"{what} never came: {shown}"
        with suppress(AssertionError):
            until(lambda: False, 0.05)


# A command


def in_a_shell(row: Row, data: Path, graph: Path, work: Path) -> None:
    words = words_of(row.work, data, graph, work)
    before = graph.read_text()
    limit = {"memory limit": "ulimit -v 1300000", "disk full": "ulimit -f 0"}.get(row.fault, "")
    with ExitStack() as stack:
        command = Command(words, work, limit)
        if not limit:
            until(lambda: bool(workers(command.pid)), PATIENCE)
            if row.work == "import":
                until(lambda: (work / "began").exists(), PATIENCE)
            if row.fault == "data gone":
                vanish(row, data, stack)
            else:
                hit(workers(command.pid)[0], row.fault)
        code, out, row.message_seconds = command.end()
    row.message = next(
        (line for line in out.splitlines() if re.search(WORDS[row.fault], line)),
        "it went on" if code == 0 else "",
    )[:110]
    assert "Traceback" not in out, out
    assert code == (0 if row.message == "it went on" else 1), out
    row.kept = graph.read_text() == before
    (work / "began").unlink(missing_ok=True)
    if row.work == "import":
        slow_script(work, seconds=0)
    code, out, row.recovery_seconds = Command(words, work).end()
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


# The faults


def hit(worker: psutil.Process, fault: str) -> None:
    if fault == "memory limit":
        _, most = worker.rlimit(psutil.RLIMIT_AS)
        worker.rlimit(psutil.RLIMIT_AS, (ROOM, most))  # nothing more is given
    else:
        worker.send_signal(signal.Signals[fault])


def vanish(row: Row, data: Path, stack: ExitStack) -> None:
    """The folder is gone, until the stack ends."""
    if row.fault == "data gone":
        away = data.with_name("elsewhere")
        data.rename(away)
        stack.callback(away.rename, data)


def full_disk(pid: int, stack: ExitStack) -> None:
    """No file that this process, or one that it starts, writes may have a byte."""
    process = psutil.Process(pid)
    usual = process.rlimit(psutil.RLIMIT_FSIZE)
    process.rlimit(psutil.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    stack.callback(process.rlimit, psutil.RLIMIT_FSIZE, usual)


def slow_script(work: Path, seconds: float = 60) -> Path:
    """A script with a pipeline, which says that it runs and then takes its time."""
    path = work / "train.py"
    path.write_text(
        "import bisect, time\nfrom pathlib import Path\n"
        "from nvidia.dali import fn, pipeline_def\n"
        f"Path({str(work / 'began')!r}).touch()\n"
        f"end = time.monotonic() + {seconds}\n"
        "while time.monotonic() < end:\n    time.sleep(0.05)\n    bytearray(2**22)\n"
        "@pipeline_def(batch_size=4, num_threads=1, device_id=None)\ndef train():\n"
        "    jpegs, labels = fn.readers.file(file_root='photos')\n"
        "    return fn.decoders.image(jpegs), labels\n"
    )
    return path
