"""Results of the sandbox, which runs only in a worker.

Scripts that pass its limits are in ``tests/commands/test_import_command.py``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.tasks import until
from workbench.engine import Engine
from workbench.engine.protocol.registry import task
from workbench.engine.resources.landlock import restrict_writing
from workbench.engine.run.worker import Worker
from workbench.engine.script_import.script_sandbox import (
    ScriptSandbox,
    one_printable_line,
    source_location,
)
from workbench.errors import ImportFailedError

SLEEP = "import time; time.sleep(100_000)"
PARENT = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEP!r}])"


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine() as started:
        yield started


@task
def run_guarded(worker: Worker, path: str, seconds: float) -> int:
    """Task: run a file under the sandbox; its last value of ``result``."""
    names: dict[str, object] = {"__name__": "guarded"}
    with ScriptSandbox([path], seconds, worker.reply_error) as sandbox:
        try:
            exec(compile(Path(path).read_text(), path, "exec"), names)
        except BaseException as error:
            raise sandbox.describe_error(error) from None
    return int(str(names.get("result", 0)))


def message_of(engine: Engine, folder: Path, text: str, seconds: float = 30.0) -> str:
    path = folder / "train.py"
    path.write_text(text)
    with pytest.raises(ImportFailedError) as error:
        engine.call(run_guarded, str(path), seconds)
    return str(error.value)


def test_a_script_within_its_limits(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "fine.py"
    path.write_text("print('words')\nresult = 7\n")
    assert engine.call(run_guarded, str(path), 30.0) == 7
    assert engine.call(run_guarded, str(path), 30.0) == 7, "and a second one in the same process"


def test_an_error_with_its_line_and_the_last_words(engine: Engine, tmp_path: Path) -> None:
    text = "import json\nfor n in range(20):\n    print('line', n)\njson.loads('{')\n"
    lines = message_of(engine, tmp_path, text).splitlines()
    assert lines[0].startswith("train.py:4: JSONDecodeError: ")
    assert lines[1] == "    json.loads('{')"
    assert lines[2:] == ["It printed last:", *(f"line {n}" for n in range(12, 20))]


def test_time(engine: Engine, tmp_path: Path) -> None:
    message = message_of(engine, tmp_path, "x = 1\nwhile True:\n    pass\n", 0.5)
    assert message.startswith("train.py:")
    assert "the script did not finish within 0.5 s" in message


@pytest.mark.parametrize(
    "harm",
    [
        "import glob; [os.remove(f) for f in glob.glob(os.environ['TMPDIR'] + '/*')]",
        "os.close(1)",
        "os.closerange(1, 3)",
    ],
)
def test_time_where_the_log_is_gone(harm: str, engine: Engine, tmp_path: Path) -> None:
    message = message_of(engine, tmp_path, f"import os\n{harm}\nwhile True:\n    pass\n", 0.5)
    assert "the script did not finish within 0.5 s" in message


def test_what_a_terminal_would_obey_is_written_out(engine: Engine, tmp_path: Path) -> None:
    text = "print('\\033[2Jü')\nraise ValueError('\\033[31mred')\n"
    message = message_of(engine, tmp_path, text)
    assert message.startswith("train.py:2: ValueError: \\x1b[31mred\n")
    assert message.endswith("It printed last:\n\\x1b[2Jü")


def test_a_syntax_error_and_a_fork(engine: Engine, tmp_path: Path) -> None:
    assert message_of(engine, tmp_path, "a = 1\nb = = 2\n").splitlines()[0] == (
        "train.py:2: SyntaxError: invalid syntax"
    )
    assert "cannot fork" in message_of(engine, tmp_path, "import os\nos.fork()\n")


@pytest.mark.parametrize(
    "harm",
    [
        "os.rename(own, there)",
        "os.link(own, there)",
        "os.symlink(own, there)",
        "os.mkdir('there', dir_fd=os.open(os.path.dirname(there), os.O_RDONLY))",
    ],
)
def test_nothing_appears_beside_the_script(harm: str, engine: Engine, tmp_path: Path) -> None:
    there = tmp_path / "there"
    text = (
        "import os, tempfile\n"
        "with tempfile.TemporaryDirectory() as folder:\n    open(f'{folder}/a', 'w').close()\n"
        f"own, there = os.environ['TMPDIR'] + '/own', {os.fspath(there)!r}\n"
        f"open(own, 'w').close()\n{harm}\n"
    )
    message = message_of(engine, tmp_path, text)
    assert message.startswith("train.py:6: PermissionError")
    assert f"cannot write files while it is imported: {there}" in message
    assert not os.path.lexists(there)


def test_nothing_appears_by_way_of_libraries_and_programs(engine: Engine, tmp_path: Path) -> None:
    text = (
        "import ctypes, os, subprocess\n"
        f"os.chdir({os.fspath(tmp_path)!r})\n"
        "made = ctypes.CDLL(None).fopen(b'model.pth', b'wb')  # as torch.save does, in C++\n"
        "ended = subprocess.run(['cp', 'train.py', 'copy.py']).returncode\n"
        "result = 2 * bool(made) + (ended == 0)\n"
    )
    path = tmp_path / "train.py"
    path.write_text(text)
    if not engine.call(has_landlock):
        pytest.skip("this kernel has no Landlock")
    assert engine.call(run_guarded, str(path), 30.0) == 0
    assert [each.name for each in tmp_path.iterdir()] == ["train.py"]


@task
def has_landlock(worker: Worker) -> bool:
    """Task: whether the kernel keeps this process from writing; it does from then on."""
    return restrict_writing(["/"])


@task
def start_two(worker: Worker, path: str) -> list[int]:
    """Task: a child, and a child of a child that is gone, in sessions and without environment."""
    with ScriptSandbox([path], 30, worker.reply_error):
        started = [
            subprocess.Popen([sys.executable, "-c", text], env={}, start_new_session=True)
            for text in (SLEEP, PARENT)
        ]
        started[1].wait()
        children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
        found = [int(pid) for pid in children.read_text().split()] if children.exists() else []
    return [started[0].pid, *found]


def test_no_process_is_left(engine: Engine, tmp_path: Path) -> None:
    pids = engine.call(start_two, str(tmp_path / "train.py"))
    until(lambda: not any(Path("/proc", str(pid)).exists() for pid in pids), 10)


def test_places_and_short_lines() -> None:
    assert source_location("/home/me/train.py", 12) == "train.py:12"
    assert one_printable_line("  a\n  b ") == "a b"
    assert len(one_printable_line("x" * 10_000)) == 600
    assert one_printable_line("x" * 10_000).endswith("...")
