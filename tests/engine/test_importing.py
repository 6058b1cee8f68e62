"""The functions that a user calls: a live pipeline, a script, a serialised one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.engine.importing import from_file
from workbench.errors import ImportFailedError

SCRIPT = """\
from nvidia.dali import fn, pipeline_def

@pipeline_def(batch_size=4, num_threads=2, device_id=0, seed=3)
def train_pipe(data_dir):
    jpegs, labels = fn.readers.file(file_root=data_dir, random_shuffle=True)
    images = fn.decoders.image(jpegs, device="mixed")
    return fn.flip(images, horizontal=fn.random.coin_flip()), labels
"""


@pytest.fixture
def pipe() -> Any:
    scope: dict[str, Any] = {}
    exec(compile(SCRIPT, "train.py", "exec"), scope)
    return scope["train_pipe"]("photos")


def test_one_pipeline_three_ways(pipe: Any, tmp_path: Path) -> None:
    script, data = tmp_path / "train.py", tmp_path / "train.dali"
    script.write_text(SCRIPT)
    from workbench.engine.script_import.tracing import trace_pipeline

    live = wb.from_pipeline(pipe, "train")
    run = wb.from_file(script, args={"data_dir": "photos"})
    assert isinstance(live, wb.ImportedGraph)
    assert isinstance(live.report, wb.ImportReport)
    assert [node.id for node in live.graph.nodes] == ["reader", "decode", "horizontal", "flip"]
    assert live.graph == live.document.graph
    assert live.graph.settings.device == "mixed"
    assert run.graph.nodes == live.graph.nodes
    assert run.graph.outputs == live.graph.outputs
    assert (live.graph.name, run.graph.name) == ("train", "train")
    assert run.document.origins["flip"] == "train.py:7"
    assert run.report.is_exact
    assert trace_pipeline(pipe).pipeline.seed == 3
    assert not data.exists()


def test_a_serialised_pipeline(tmp_path: Path) -> None:
    scope: dict[str, Any] = {}
    text = SCRIPT.replace('device="mixed"', 'device="cpu"').replace("device_id=0", "device_id=None")
    exec(compile(text, "train.py", "exec"), scope)
    pipe = scope["train_pipe"]("photos")
    file = tmp_path / "train.dali"
    pipe.serialize(filename=str(file))
    found, live = wb.from_file(file), wb.from_pipeline(pipe)
    assert found.graph.nodes == live.graph.nodes
    assert found.graph.settings == live.graph.settings
    assert list(found.graph.outputs) == ["images", "labels"]
    assert found.graph.name == "train"
    assert found.report.entries == live.report.entries


@pytest.mark.parametrize("name", ["nothing.dali", "nothing.py", "nothing.ipynb"])
def test_files_that_are_not_there(name: str, tmp_path: Path) -> None:
    with pytest.raises(wb.ImportFailedError, match="cannot be read"):
        wb.from_file(tmp_path / name)


def test_a_serialised_pipeline_takes_no_arguments(tmp_path: Path) -> None:
    (tmp_path / "p.dali").write_bytes(b"x")
    for given in ({"pipeline": "one"}, {"args": {"a": 1}}):
        with pytest.raises(wb.ImportFailedError, match="takes no name and no arguments"):
            wb.from_file(tmp_path / "p.dali", **given)  # type: ignore[arg-type]
    with pytest.raises(wb.PipelineFormatError, match=r"p\.dali: This is not a pipeline"):
        wb.from_file(tmp_path / "p.dali")


def test_source_of_fifty_megabytes_is_refused_unread(tmp_path: Path) -> None:
    for name in ("train.py", "look.ipynb"):
        (tmp_path / name).write_bytes(b"x = 1\n" * (50 * 2**20 // 6))
        with pytest.raises(ImportFailedError, match="16,777,216 are the limit"):
            from_file(tmp_path / name)


def test_a_stand_in_that_a_script_calls_leads_on(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "from no_such_package import wrap, settings\n"
        "from nvidia.dali import fn, pipeline_def\n"
        "settings().read('file').apply(3)[0](wrap(1) + 2)\n"
        "@wrap\n@pipeline_def(batch_size=2, num_threads=1, device_id=None)\n"
        "def train(data='photos'):\n    wrap(data).check()\n"
        "    return fn.decoders.image(fn.readers.file(file_root=data)[0])\n"
    )
    found = from_file(tmp_path / "train.py")
    assert [node.op for node in found.graph.nodes] == ["readers.file", "decoders.image"]
    assert "stood in for: no_such_package" in str(found.report)


ONE = """\
@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def train(data="photos"):
    jpegs, labels = fn.readers.file(file_root=data)
    return fn.decoders.image(jpegs), labels
"""


def test_of_two_pipelines_of_one_name_it_is_told_which_is_read(tmp_path: Path) -> None:
    text = f"from nvidia.dali import fn, pipeline_def\n{ONE}{ONE.replace('size=2', 'size=3')}"
    (tmp_path / "train.py").write_text(text)
    found = from_file(tmp_path / "train.py")
    assert found.graph.settings.batch_size == 3
    told = "train is defined 2 times, at train.py:3, train.py:7: that of train.py:7 is read"
    assert told in found.report.notes


def test_two_static_methods_of_one_name_are_told_apart(tmp_path: Path) -> None:
    method = "    @staticmethod\n" + "".join(f"    {line}\n" for line in ONE.splitlines())
    text = f"from nvidia.dali import fn, pipeline_def\nclass A:\n{method}class B:\n{method}"
    (tmp_path / "train.py").write_text(text)
    with pytest.raises(ImportFailedError, match=r"2 pipelines: A\.train, B\.train\. Name one"):
        from_file(tmp_path / "train.py")
    assert len(from_file(tmp_path / "train.py", "B.train").graph.nodes) == 2


def test_a_pipeline_that_gives_a_stand_in(tmp_path: Path) -> None:
    text = ONE.replace("fn.decoders.image(jpegs)", "rotated(jpegs)")
    head = "from no_such_package import rotated\nfrom nvidia.dali import fn, pipeline_def\n"
    (tmp_path / "train.py").write_text(head + text)
    with pytest.raises(
        ImportFailedError,
        match=r"no_such_package\.rotated.* not known .* Install no_such_package",
    ):
        from_file(tmp_path / "train.py")


@pytest.mark.parametrize(
    "data",
    [bytes(range(256)), b"x = 1\x00\n", "x = 1".encode("utf-16")],
    ids=["bytes", "zero", "utf-16"],
)
def test_a_file_that_is_no_text(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(data)
    with pytest.raises(
        ImportFailedError, match=r"cannot be read: it is no text in UTF-8\. Save it"
    ):
        from_file(tmp_path / "train.py")
