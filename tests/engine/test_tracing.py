"""Live pipelines are read and left as they are, GPU or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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
    assert fed.refused == "a Python function feeds it, which only the source holds"
    assert function.refused == "it runs Python code, which only the source holds"
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

    with pytest.raises(ImportFailedError, match=r"uncalled is a function .* Give what it returns"):
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

    with pytest.raises(ImportFailedError, match=r"gives nothing out\. Return its outputs"):
        trace_pipeline(Pipeline(4, 2, None))


def test_a_graph_that_dali_cannot_make() -> None:
    from nvidia.dali.pipeline import Pipeline

    class Broken(Pipeline):
        def define_graph(self) -> Any:
            raise RuntimeError("no more")

    with pytest.raises(ImportFailedError, match="make the pipeline's graph: RuntimeError: no more"):
        trace_pipeline(Broken(4, 2, None))
