"""``workbench import`` as a user calls it, and everything that a source may do wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from tests.commands import bad_scripts as bad
from tests.engine.tasks import until
from tests.thorough import examples, one_in
from workbench.cli import main
from workbench.emit.pipeline_import.trace.serialized_pipeline import read_pipeline
from workbench.engine import Engine
from workbench.engine.importing import from_file
from workbench.engine.protocol.registry import task
from workbench.engine.run.worker import Worker
from workbench.engine.script_import.scripts import trace_source
from workbench.errors import ImportFailedError, PipelineFormatError
from workbench.graph import load_graph

OLD = '{"what was there": "before"}'


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def marked(mark: str) -> list[int]:
    """Processes that have this mark in their environment: whatever came of a script, and where."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            continue  # it has ended, or is another user's
    return found


@pytest.fixture
def spot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in. Afterwards no process and no temporary file is left behind."""
    mark = f"mark-{uuid.uuid4()}"
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("IMPORT_TEST", mark)
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    yield work
    until(lambda: not marked(mark), 10)
    assert list(temporary.iterdir()) == []


def written(folder: Path, text: str, name: str = "script.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refused(source: Path, *options: object, there: bool = True) -> str:
    """What the command says of a bad source; nothing is written, and nothing that was is lost."""
    output = source.parent / "graph.json"
    if there:
        output.write_text(OLD)
    before = sorted(source.parent.iterdir())
    result = run("import", source, "-o", output, *options)
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit)
    assert len(result.output) < 5000
    assert sorted(source.parent.iterdir()) == before
    assert not there or output.read_text() == OLD
    return result.output


def test_a_script_becomes_a_graph_file(spot: Path) -> None:
    output = spot / "graph.json"
    result = run("import", written(spot, bad.GOOD), "-o", output)
    assert result.exit_code == 0, result.output
    first, total, *_ = result.output.splitlines()
    assert first == str(output)
    assert total.endswith("3 of 3 steps exact")
    graph = load_graph(output.read_text())
    assert [node.op for node in graph.nodes] == ["readers.file", "decoders.image", "resize"]
    assert graph.settings.batch_size == 4
    again = run("export", output, "-o", spot / "again.py")
    assert again.exit_code == 0, again.output


@pytest.mark.parametrize("name", ["script.py", "link.py"])
def test_the_source_is_not_written_over(name: str, spot: Path) -> None:
    source = written(spot, bad.GOOD)
    (spot / "link.py").symlink_to(source)
    result = run("import", source, "-o", spot / name)
    assert result.exit_code == 2
    assert f"{name} would overwrite the source, {source}" in result.output
    assert source.read_text() == bad.GOOD


def test_the_output_of_a_script_stays_out_of_the_way(spot: Path) -> None:
    output = spot / "graph.json"
    result = run("import", written(spot, bad.NOISY), "-o", output)
    assert result.exit_code == 0, result.output
    assert len(result.output) < 1000
    assert load_graph(output.read_text()).nodes


def test_a_script_that_asks_gets_no_answer(spot: Path) -> None:
    result = run("import", written(spot, bad.ASKING), "-o", spot / "graph.json")
    assert result.exit_code == 0, result.output
    assert "script.py:1 failed (EOFError" in result.output


def test_a_script_that_changes_what_others_use(spot: Path) -> None:
    result = run("import", written(spot, bad.TAMPERING), "-o", spot / "graph.json")
    assert result.exit_code in (0, 1), result.output
    assert (spot / "graph.json").exists() == (result.exit_code == 0)
    assert "Traceback" not in result.output


@pytest.mark.parametrize("case", one_in(3, bad.RAISING))
def test_what_a_script_raises_is_said_with_its_line(case: str, spot: Path) -> None:
    text, line, word = bad.RAISING[case]
    message = refused(written(spot, text))
    if line:
        assert message.startswith(f"Error: script.py:{line}: "), message
    assert "script.py" in message
    assert word in message


@pytest.mark.parametrize("case", one_in(3, bad.ENDLESS))
def test_a_script_without_end_is_ended(case: str, spot: Path) -> None:
    text, line = bad.ENDLESS[case]
    start = time.monotonic()
    message = refused(written(spot, text), "--seconds", 1, there=False)
    assert time.monotonic() - start < 20
    assert f"script.py:{line}: the script did not finish within 1 s" in message


@pytest.mark.parametrize("case", one_in(3, bad.ENDING))
def test_a_script_that_ends_its_process(case: str, spot: Path) -> None:
    message = refused(written(spot, bad.ENDING[case]), there=False)
    assert "script.py: the script's process" in message
    assert "before the script was read" in message


@pytest.mark.parametrize("case", one_in(2, bad.NO_PIPELINE, first=1))
def test_a_script_without_a_pipeline(case: str, spot: Path) -> None:
    message = refused(written(spot, bad.NO_PIPELINE[case]))
    assert "has no pipeline" in message


def test_of_two_pipelines_one_is_named(spot: Path) -> None:
    script = written(spot, bad.TWO)
    message = refused(script)
    assert "2 pipelines: good, second" in message
    assert "--pipeline" in message
    assert "Did you mean second?" in refused(script, "--pipeline", "secnd")
    output = spot / "graph.json"
    result = run("import", script, "--pipeline", "second", "-o", output)
    assert result.exit_code == 0, result.output
    assert len(load_graph(output.read_text()).nodes) == 2


def test_arguments_that_are_not_given_are_named(spot: Path) -> None:
    script = written(spot, bad.NEEDY)
    assert "'good' requires 'data', 'size'. Pass --arg data=... --arg size=..." in refused(script)
    option = "import argparse\nargparse.ArgumentParser().add_argument('--size', default=224)\n"
    assumed = written(spot, bad.NEEDY + option)
    result = run("import", assumed, "--arg", "data=photos", "-o", spot / "graph.json")
    assert "assumed  size=224\n         set others by --arg size=..." in result.output
    (spot / "graph.json").unlink()
    script = written(spot, bad.NEEDY)
    message = refused(script, "--arg", "data=photos", "--arg", "size=3", "--arg", "sise=3")
    assert "has no argument 'sise'" in message
    given = ["--arg", "data=photos", "--arg", "size=64"]
    assert run("import", script, *given, "-o", spot / "graph.json").exit_code == 0


def test_processes_that_a_script_starts_end_with_it(spot: Path) -> None:
    output = spot / "graph.json"
    result = run("import", written(spot, bad.LEAVING + bad.GOOD), "-o", output)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("end", "code"), one_in(3, [("", 0), ("while True: pass\n", 1), ("raise ValueError\n", 0)])
)
def test_processes_that_hide_end_with_it_too(end: str, code: int, spot: Path) -> None:
    script = written(spot, bad.HIDING + bad.GOOD + end)
    result = run("import", script, "-o", spot / "graph.json", "--seconds", 5)
    assert result.exit_code == code, result.output
    until(lambda: processes_in(spot) <= {os.getpid()}, 10)


def processes_in(folder: Path) -> set[int]:
    """Those whose working folder it is."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is another user's
            if (process / "cwd").readlink() == folder:
                found.add(int(process.name))
    return found


@task
def trace_with_little_memory(worker: Worker, path: str) -> Any:
    """Task: as an import does, with an eighth of the memory that it may take."""
    from workbench.engine.script_import import script_sandbox

    script_sandbox.MEMORY = 2**30
    return trace_source(worker, path, None, {}, 60)


def test_a_script_that_takes_memory_without_end(spot: Path) -> None:
    script = written(spot, bad.GREEDY)
    with (
        Engine() as engine,
        pytest.raises(ImportFailedError, match=r"script\.py:2: the script used more"),
    ):
        engine.call(trace_with_little_memory, str(script))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere.py", "-o", "g.json"], 2, "nowhere.py"),
        (["nowhere.dali", "-o", "g.json"], 2, "nowhere.dali"),
        ([".", "-o", "g.json"], 2, "is a directory"),
        (["script.py"], 2, "--output"),
        (["script.py", "-o", "-"], 2, "Use a file"),
        (["script.py", "-o", "g.json", "--arg", "data"], 2, "NAME=VALUE"),
        (["script.py", "-o", "g.json", "--arg", "a b=3"], 2, "NAME=VALUE"),
        (["script.py", "-o", "g.json", "--seconds", "0"], 2, "seconds"),
        (["for_ever.py", "-o", "/nowhere/g.json"], 2, "cannot be written: No such file"),
        (["for_ever.py", "-o", "photo.jpg/g.json"], 2, "cannot be written: Not a directory"),
        (["for_ever.py", "-o", "."], 2, ". is a folder"),
        (["binary.py", "-o", "g.json"], 1, "binary.py"),
        (["binary.dali", "-o", "g.json"], 1, "binary.dali"),
        (["binary.ipynb", "-o", "g.json"], 1, "binary.ipynb"),
        (["no.ipynb", "-o", "g.json"], 1, "not an nbformat 4 notebook"),
        (["empty.ipynb", "-o", "g.json"], 1, "has no pipeline"),
        (["half.ipynb", "-o", "g.json"], 1, "not an nbformat 4 notebook"),
        (["binary.dali", "--pipeline", "x", "-o", "g.json"], 1, "no pipeline name"),
        (["photo.jpg", "-o", "g.json"], 1, "A script ends in .py, a notebook in .ipynb"),
    ],
)
def test_what_is_wrong_is_said(
    arguments: list[str], code: int, message: str, spot: Path, photos: Path
) -> None:
    written(spot, bad.GOOD)
    for name in ("binary.py", "binary.dali", "binary.ipynb"):
        (spot / name).write_bytes(bytes(range(256)) * 4)
    written(spot, "while True: pass", "for_ever.py")  # it is not run
    written(spot, "[1, 2]", "no.ipynb")
    written(spot, '{"cells": [], "nbformat": 4}', "empty.ipynb")
    written(spot, '{"cells": [{"cell_type": "code", "sou', "half.ipynb")
    (spot / "photo.jpg").symlink_to(next(photos.rglob("*.jpg")))
    before = sorted(spot.iterdir())
    result = run("import", *arguments)
    assert result.exit_code == code, result.output
    assert message in result.output
    assert "Traceback" not in result.output
    assert sorted(spot.iterdir()) == before


@pytest.fixture(scope="module")
def serialised() -> bytes:
    """A pipeline as DALI serialises it."""
    scope: dict[str, Any] = {}
    exec(compile(bad.GOOD, "good.py", "exec"), scope)
    return bytes(scope["good"]().serialize())


def test_a_serialised_pipeline(serialised: bytes, spot: Path) -> None:
    source = spot / "good.dali"
    source.write_bytes(serialised)
    result = run("import", source, "-o", spot / "graph.json")
    assert result.exit_code == 0, result.output
    assert len(load_graph((spot / "graph.json").read_text()).nodes) == 3


def test_a_serialised_pipeline_cut_short_is_refused(serialised: bytes, spot: Path) -> None:
    """At every tenth byte; behind the last call and output nothing is left to be missed."""
    source = spot / "short.dali"
    for length in range(0, len(serialised), 10):
        source.write_bytes(serialised[:length])
        with pytest.raises(PipelineFormatError, match=r"short\.dali: This is not a pipeline"):
            from_file(source)
    assert "truncated" in refused(source)


@given(st.binary(max_size=2000))
@examples(50, thorough=4000)
def test_random_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(PipelineFormatError):
        read_pipeline(data)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=20))
@examples(50, thorough=4000)
def test_a_spoilt_pipeline_is_read_or_refused(
    serialised: bytes, tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    data = bytearray(serialised)
    for place, value in changes:
        data[place % len(data)] = value
    source = tmp_path_factory.getbasetemp() / "spoilt.dali"
    source.write_bytes(data)
    try:
        imported = from_file(source)
    except ImportFailedError:
        return
    for node in imported.graph.nodes:
        assert node.id.isidentifier()


def test_a_serialised_pipeline_with_a_name_in_another_encoding(
    serialised: bytes, spot: Path
) -> None:
    source = spot / "latin.dali"
    source.write_bytes(serialised.replace(b"photos", b"ph\xf6t\xe9s"))
    result = run("import", source, "-o", spot / "graph.json")
    assert result.exit_code == 0, result.output
    result.output.encode()


def test_python_in_a_pipeline_is_not_trusted_and_not_run(
    spot: Path,
) -> None:
    body = bad.GOOD.replace("    return fn.resize", "    images = fn.python_function(images, "
        "function=trip)\n    return fn.resize").replace("@pipeline_def", "def trip(image):\n"
        "    open('tripped', 'w')\n    return image\n\n@pipeline_def")  # fmt: skip
    result = run("import", written(spot, body), "-o", spot / "graph.json")
    assert result.exit_code == 0, result.output
    assert "not trusted" in result.output
    assert not (spot / "tripped").exists()
    exported = run("export", spot / "graph.json", "-o", spot / "again.py")
    assert exported.exit_code == 1
    assert "python_function" in exported.output
    assert not (spot / "again.py").exists()
    assert run("--trust", "export", spot / "graph.json", "-o", spot / "again.py").exit_code == 0
    assert not (spot / "tripped").exists()


def test_importing_the_package_runs_nothing() -> None:
    """``from_file`` is light to import: no DALI in the caller's process."""
    code = "import sys, workbench; workbench.from_file; sys.exit('nvidia.dali' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=os.environ.copy()).returncode == 0
