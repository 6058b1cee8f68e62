"""Live pipelines are read and left as they are, GPU or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.engine.importing import from_file
from workbench.engine.script_import.tracing import trace_pipeline
from workbench.errors import ImportFailedError


def simple(device: str = "cpu", **settings: Any) -> Any:
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(**{"batch_size": 4, "num_threads": 2, "device_id": None} | settings)
    def simple_pipe() -> Any:
        jpegs, labels = fn.readers.file(file_root="photos", name="Reader", seed=1)
        images = fn.decoders.image(jpegs, device=device)
        images = fn.resize(images, size=[32, 32])
        return images, labels.gpu()

    return simple_pipe()


def test_a_pipeline_function() -> None:
    traced = trace_pipeline(simple(seed=5), "mine")
    pipeline = traced.pipeline
    assert traced.name == "mine"
    assert [op.schema for op in pipeline.ops] == ["readers__File", "decoders__Image", "Resize"]
    assert (pipeline.batch_size, pipeline.num_threads, pipeline.seed) == (4, 2, 5)
    assert [edge.device for edge in pipeline.outputs] == ["cpu", "gpu"]
    assert pipeline.ops[0].outputs[1] == ("Reader[1]", "cpu")
    place = pipeline.ops[-1].places[-1]
    assert place.text == "images = fn.resize(images, size=[32, 32])"
    assert "def test_a_pipeline_function" in traced.sources[place.file]


def test_mixed_without_a_gpu() -> None:
    pipeline = trace_pipeline(simple("mixed", device_id=3)).pipeline
    assert [op.device for op in pipeline.ops] == ["cpu", "mixed", "gpu"]
    assert pipeline.device_id == 3


def test_the_users_pipeline_stays_as_it_is() -> None:
    pipe = simple(device_id=3)
    before = dict(vars(pipe))
    trace_pipeline(pipe)
    assert vars(pipe) == before
    assert not pipe._py_graph_built


def test_it_still_runs_as_before(photos: Any) -> None:
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(batch_size=4, num_threads=1, device_id=None, seed=3)
    def drawn() -> Any:
        jpegs, _ = fn.readers.file(file_root=str(photos), random_shuffle=True)
        images = fn.decoders.image(jpegs)
        return fn.random_resized_crop(images, size=[20, 20])

    def run(pipe: Any) -> Any:
        pipe.build()
        return [pipe.run()[0].as_array() for _ in range(2)]

    traced, plain = drawn(), drawn()
    once = trace_pipeline(traced)
    assert all(map(np.array_equal, run(traced), run(plain)))
    assert trace_pipeline(traced).pipeline == once.pipeline, "built, it is the same"


def test_settings_that_are_not_given() -> None:
    pipeline = trace_pipeline(simple(batch_size=-1, num_threads=-1)).pipeline
    assert (pipeline.batch_size, pipeline.num_threads) == (0, 0)


def test_settings_that_are_dalis_own() -> None:
    from nvidia.dali import types

    said = {"exec_pipelined": True, "exec_async": True, "exec_dynamic": True, "py_num_workers": 1}
    for pipe in (simple(), simple(**said), simple(prefetch_queue_depth=3)):
        assert trace_pipeline(pipe).pipeline.unheld == {}
    assert trace_pipeline(simple(device_id=types.CPU_ONLY_DEVICE_ID)).pipeline.device_id is None


def test_executors() -> None:
    for given, executor, depth in (
        ({}, "dynamic", 2),
        ({"exec_dynamic": False, "prefetch_queue_depth": 3}, "static", 3),
        ({"prefetch_queue_depth": {"cpu_size": 6, "gpu_size": 3}}, "separate", 3),
    ):
        pipeline = trace_pipeline(simple(**given)).pipeline
        assert (pipeline.executor, pipeline.prefetch_queue_depth) == (executor, depth)
        assert pipeline.unheld == {}


def test_settings_for_which_a_graph_has_no_place() -> None:
    from nvidia.dali import types
    from nvidia.dali.pipeline import StreamPolicy

    old = {"exec_pipelined": False, "exec_async": False, "exec_dynamic": False}
    others = {
        "bytes_per_sample": 1000,
        "set_affinity": True,
        "stream_policy": StreamPolicy.SINGLE,
        "enable_memory_stats": True,
        "enable_checkpointing": True,
        "py_num_workers": 3,
        "py_start_method": "spawn",
        "output_dtype": [types.UINT8, types.INT32],
        "output_ndim": [3, 1],
        "output_layout": "HWC",
    }
    assert trace_pipeline(simple(**old)).pipeline.unheld == dict.fromkeys(old, "False")
    found = trace_pipeline(simple(**others)).pipeline.unheld
    assert found.keys() == others.keys()
    assert (found["output_ndim"], found["output_layout"]) == ("[3, 1]", "'HWC'")
    assert found["stream_policy"] == "StreamPolicy.SINGLE"
    queues = {"cpu_size": 5, "gpu_size": 3}
    pipeline = trace_pipeline(simple(prefetch_queue_depth=queues)).pipeline
    assert pipeline.unheld == {"prefetch_queue_depth": str(queues)}
    long = trace_pipeline(simple(checkpoint="x" * 1000, enable_checkpointing=True)).pipeline
    assert len(long.unheld["checkpoint"]) == 80


def test_the_class_form() -> None:
    from nvidia.dali import ops
    from nvidia.dali.pipeline import Pipeline

    class Old(Pipeline):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(4, 2, 0)
            self.read = ops.readers.File(file_root="photos", seed=3)
            self.decode = ops.decoders.Image(device="mixed")
            self.turn = ops.Rotate(device="gpu", angle=0.1)

        def define_graph(self) -> Any:
            jpegs, self.labels = self.read()
            return self.turn(self.decode(jpegs)), self.labels

    pipe = Old()
    pipeline = trace_pipeline(pipe).pipeline
    assert [op.device for op in pipeline.ops] == ["cpu", "mixed", "gpu"]
    assert pipeline.ops[-1].args == {"angle": 0.1}
    assert pipeline.ops[0].places[-1].function == "define_graph"
    assert not hasattr(pipe, "labels"), "define_graph ran on a twin"


def test_what_runs_python() -> None:
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(batch_size=4, num_threads=2, device_id=0)
    def custom() -> Any:
        fed = fn.external_source(lambda i: [np.zeros(3)] * 4, name="fed")
        one, two = fn.python_function(fed, function=lambda x: (x, x), num_outputs=2)
        return fn.resize(one.gpu(), size=[3, 3]), two

    pipeline = trace_pipeline(custom()).pipeline
    fed, function, resize = pipeline.ops
    assert (fed.args["function"], fed.args["creates"]) == ("make_source", True)
    assert function.refused == "it runs Python code, which only the source contains"
    assert (function.module, function.display) == ("nvidia.dali.fn", "python_function")
    assert [edge for edge, _ in function.outputs] == [f"{function.name}[{i}]" for i in (0, 1)]
    assert [edge.edge for edge in function.inputs] == ["fed"]
    assert function.places[-1].text.startswith("one, two = fn.python_function(")
    assert resize.inputs[0].device == "gpu"


def test_a_pipeline_that_was_read_from_a_file() -> None:
    from nvidia.dali import fn, pipeline_def
    from nvidia.dali.pipeline import Pipeline

    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def numbers() -> Any:
        return fn.random.uniform(range=[0, 1], seed=3)

    read = Pipeline.deserialize(numbers().serialize())
    assert [op.schema for op in trace_pipeline(read).pipeline.ops] == ["random__Uniform"]


@pytest.mark.parametrize("other", [None, "a pipeline", object(), type])
def test_what_is_no_pipeline(other: object) -> None:
    with pytest.raises(ImportFailedError, match="is not an nvidia"):
        trace_pipeline(other)


def test_a_pipeline_function_that_was_not_called() -> None:
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def uncalled() -> Any:
        return fn.constant(idata=1)

    with pytest.raises(ImportFailedError, match=r"uncalled is a function .* Pass its result"):
        trace_pipeline(uncalled)


def test_a_pipeline_in_debug_mode() -> None:
    from nvidia.dali import fn
    from nvidia.dali.pipeline.experimental import pipeline_def

    @pipeline_def(batch_size=2, num_threads=1, device_id=None, debug=True)
    def stepped() -> Any:
        return fn.constant(idata=1)

    with pytest.raises(ImportFailedError, match="debug mode"):
        trace_pipeline(stepped())


def test_a_pipeline_without_outputs() -> None:
    from nvidia.dali.pipeline import Pipeline

    with pytest.raises(ImportFailedError, match=r"has no outputs\. Return them"):
        trace_pipeline(Pipeline(4, 2, None))


def test_a_graph_that_dali_cannot_make() -> None:
    from nvidia.dali.pipeline import Pipeline

    class Broken(Pipeline):
        def define_graph(self) -> Any:
            raise RuntimeError("no more")

    with pytest.raises(
        ImportFailedError, match="build the pipeline's graph: RuntimeError: no more"
    ):
        trace_pipeline(Broken(4, 2, None))


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
        with pytest.raises(wb.ImportFailedError, match="has no pipeline name and no arguments"):
            wb.from_file(tmp_path / "p.dali", **given)  # type: ignore[arg-type]
    with pytest.raises(wb.PipelineFormatError, match=r"p\.dali: This is not a pipeline"):
        wb.from_file(tmp_path / "p.dali")


def test_source_of_fifty_megabytes_is_refused_unread(tmp_path: Path) -> None:
    for name in ("train.py", "look.ipynb"):
        (tmp_path / name).write_bytes(b"x = 1\n" * (50 * 2**20 // 6))
        with pytest.raises(ImportFailedError, match="the limit is 16,777,216"):
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
    assert "replaced by stand-ins: no_such_package" in str(found.report)


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
    told = "train is defined 2 times, at train.py:3, train.py:7: the one at train.py:7 is read"
    assert told in found.report.notes


def test_two_static_methods_of_one_name_are_told_apart(tmp_path: Path) -> None:
    method = "    @staticmethod\n" + "".join(f"    {line}\n" for line in ONE.splitlines())
    text = f"from nvidia.dali import fn, pipeline_def\nclass A:\n{method}class B:\n{method}"
    (tmp_path / "train.py").write_text(text)
    with pytest.raises(ImportFailedError, match=r"2 pipelines: A\.train, B\.train\. Select one"):
        from_file(tmp_path / "train.py")
    assert len(from_file(tmp_path / "train.py", "B.train").graph.nodes) == 2


def test_a_pipeline_that_gives_a_stand_in(tmp_path: Path) -> None:
    text = ONE.replace("fn.decoders.image(jpegs)", "rotated(jpegs)")
    head = "from no_such_package import rotated\nfrom nvidia.dali import fn, pipeline_def\n"
    (tmp_path / "train.py").write_text(head + text)
    with pytest.raises(
        ImportFailedError,
        match=r"no_such_package\.rotated.* unknown.* Install no_such_package",
    ):
        from_file(tmp_path / "train.py")


@pytest.mark.parametrize(
    "data",
    [bytes(range(256)), b"x = 1\x00\n", "x = 1".encode("utf-16")],
    ids=["bytes", "zero", "utf-16"],
)
def test_a_file_that_is_no_text(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(data)
    with pytest.raises(ImportFailedError, match=r"cannot be read: it is not UTF-8 text\. Save it"):
        from_file(tmp_path / "train.py")
