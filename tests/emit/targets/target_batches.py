"""Batches of exported modules, asked for as the users of each target do.

A sample is compared by a digest of its type, shape and bytes; labels by numbers, for frameworks
give them types and shapes of their own.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import linecache
import sys
import tarfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

Batch = dict[str, list[Any]]
"""Output -> what stands for each of its samples."""


def digest(sample: Any) -> int | str:
    array = np.asarray(sample)
    if array.size == 1 and array.dtype.kind == "i":
        return int(array.item())
    head = f"{array.dtype.str} {array.shape}".encode()
    return hashlib.sha256(head + np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def digests(batch: dict[str, Any]) -> Batch:
    return {name: [digest(sample) for sample in samples] for name, samples in batch.items()}


def load(path: Path) -> ModuleType:
    """An exported module, under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def dali_batches(pipe: Any, names: list[str]) -> Iterator[dict[str, Any]]:
    while True:
        yield host_batch(pipe.run(), names)


def host_batch(outputs: Any, names: list[str]) -> dict[str, Any]:
    return {
        name: [np.array(sample) for sample in list(output.as_cpu())]
        for name, output in zip(names, outputs, strict=True)
    }


def script(path: Path, data: str, names: list[str]) -> Iterator[dict[str, Any]]:
    module = load(path / "pipe.py")
    if not hasattr(module, "PIPELINES"):
        return dali_batches(module.build_pipeline(data), names)
    return (host_batch(out, names) for out in module.in_turns(module.build_pipelines(data)))


def torch_loader(module: ModuleType, data: str, checkpoint: Any = None, **options: Any) -> Any:
    """The loader of the exported module, over one pipeline or several."""
    if not hasattr(module, "PIPELINES"):
        return module.Loader(module.build_pipeline(data, checkpoint=checkpoint, **options))
    pipes = module.build_pipelines(data, checkpoint=checkpoint, **options)
    return module.Loader(pipes, checkpoint=checkpoint)


def pytorch(path: Path, data: str, names: list[str]) -> Iterator[dict[str, Any]]:
    loader = torch_loader(load(path / "loader.py"), data)
    for batch in loader:
        yield {name: on_host(batch[name]) for name in names}


def on_host(output: Any) -> Any:
    """A tensor, or a list of these, as arrays."""
    if isinstance(output, list):
        return [sample.cpu().numpy() for sample in output]
    return output.cpu().numpy()


def lightning(path: Path, data: str, names: list[str]) -> Iterator[dict[str, Any]]:
    module = load(path / "datamodule.py").PipelineData(data)
    place = SimpleNamespace(root_device=SimpleNamespace(index=None))
    module.trainer = SimpleNamespace(global_rank=0, world_size=1, strategy=place)
    for batch in module.train_dataloader():
        yield {name: on_host(batch[name]) for name in names}


def jax(path: Path, data: str, names: list[str]) -> Iterator[dict[str, Any]]:
    for batch in load(path / "loader.py").Loader(data):
        assert batch["valid"].all()
        yield {name: np.asarray(batch[name]) for name in names}


def tensorflow(path: Path, data: str, names: list[str]) -> Iterator[dict[str, Any]]:
    module = load(path / "dataset.py")
    for batch in module.Loader(module.build_pipeline(data)):
        yield {name: batch[name].numpy() for name in names}


def keras(path: Path, data: str, names: list[str]) -> Iterator[dict[str, Any]]:
    module = load(path / "generator.py")
    for batch in module.batches(module.build_pipeline(data)):
        parts = [part if isinstance(part, dict) else {"": part} for part in batch]
        tensors = [np.asarray(tensor) for part in parts for tensor in part.values()]
        given = [name for part in parts for name in part if name]
        targets = [name for name in names if name not in given]
        alone = iter(sorted(targets, key=lambda name: name in ("labels", "masks")))
        order = [name or next(alone) for part in parts for name in part]
        yield dict(zip(order, tensors, strict=True))


def stand_in_for_transformers() -> None:
    """Let a program be imported where there is no Trainer to derive from."""
    if "transformers" not in sys.modules and importlib.util.find_spec("transformers") is None:
        sys.modules["transformers"] = SimpleNamespace(Trainer=object)  # type: ignore[assignment]


def huggingface(path: Path, data: str, names: list[str]) -> Iterator[dict[str, Any]]:
    """What DALI gives, before it becomes a model's arguments."""
    stand_in_for_transformers()
    module = load(path / "trainer.py")
    for (batch,) in module.Loader(module.build_pipeline(data))._iterator:
        yield dict(zip(names, (on_host(batch[name]) for name in module.OUTPUTS), strict=True))


def dynamic(path: Path, data: str, names: list[str]) -> Iterator[dict[str, Any]]:
    for batch in load(path / "dynamic.py").batches(data):
        arrays = [[np.array(sample.cpu()) for sample in output.tensors] for output in batch]
        yield dict(zip(names, arrays, strict=True))


def notebook(path: Path, data: str, names: list[str]) -> Iterator[dict[str, Any]]:
    return dali_batches(notebook_pipeline(path / "pipeline.ipynb", '"photos"', repr(data)), names)


def notebook_pipeline(path: Path, old: str, new: str) -> Any:
    """The built pipeline of a notebook, in whose code something is replaced.

    Errors can quote the lines of a cell, as in IPython.
    """
    cells = json.loads(path.read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    built = next(index for index, text in enumerate(code) if text.endswith("pipe.build()"))
    space: dict[str, Any] = {}
    for number, cell in enumerate(code[: built + 1]):
        text, name = cell.replace(old, new), f"<cell {number} of {path}>"
        linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
        exec(compile(text, name, "exec"), space)
    return space["pipe"]


def triton(path: Path, data: str, names: list[str]) -> Iterator[dict[str, Any]]:
    """The served pipeline, fed with the files that the script's reader gives."""
    (model,) = path.glob("model_repository/*/1/dali.py")
    module = load(model)
    (function,) = (f for f in vars(module).values() if getattr(f, "_is_autoserialize", False))
    sys.argv = ["dali.py"]
    module.main()
    from nvidia.dali import Pipeline

    live = function(prefetch_queue_depth=1)
    stored = Pipeline.deserialize(
        filename=str(model.with_name("model.dali")), prefetch_queue_depth=1
    )
    live.build()
    files = load(path / "files.py").build_pipeline(data)
    client = ast.parse((path / "client.py").read_text())
    (given,) = (
        ast.literal_eval(node.value)
        for node in client.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "OUTPUTS"
    )
    while True:
        encoded = [np.array(sample) for sample in files.run()[0]]
        batch = host_batch(live.run(IMAGE=encoded), given)
        again = host_batch(stored.run(IMAGE=encoded), given)
        assert digests(batch) == digests(again), "model.dali differs from dali.py"
        yield batch


def stand_in_for_nvtx() -> None:
    """Let DALI Proxy run with a PyTorch built without CUDA: its marks for profilers do nothing.

    The rest of the program is executed as it is, on machines too that have such a build alone.
    """
    import torch
    from torch.cuda import nvtx

    if torch.version.cuda is None:
        nvtx.range_push = nvtx.range_pop = lambda *_: 0
        torch.version.cuda = "none, NVTX is stood in for"


def proxy(path: Path, data: str, names: list[str]) -> Iterator[dict[str, Any]]:
    """Batches of a dataset of the files that the script's reader outputs."""
    from torch.utils.data import SequentialSampler

    stand_in_for_nvtx()
    files = load(path / "files.py").build_pipeline(data)
    samples: list[tuple[bytes, int]] = []
    for _ in range(4):  # one more than are compared, which the loader has begun
        encoded, labels = ([np.array(each) for each in output] for output in files.run())
        samples += [(e.tobytes(), n.item()) for e, n in zip(encoded, labels, strict=True)]
    module = load(path / "loader.py")
    made = module.make_loader(module.build_pipeline(), samples, SequentialSampler(samples))
    with made as loader:
        for batch in loader:
            yield {name: on_host(batch[name]) for name in names}


def tar_samples(path: Path) -> dict[str, dict[str, Any]]:
    """What Ray's actors wrote: key -> output -> sample."""
    samples: dict[str, dict[str, Any]] = {}
    with tarfile.open(path) as tar:
        for entry in tar:
            key, name, ending = entry.name.split(".")
            file = tar.extractfile(entry)
            assert file is not None
            text = file.read()
            value = int(text) if ending == "cls" else np.load(BytesIO(text))
            samples.setdefault(key, {})[name] = value
    return samples


def parquet_samples(path: Path) -> dict[str, dict[str, Any]]:
    import pyarrow.parquet as pq

    def read(value: int | bytes) -> Any:
        return value if isinstance(value, int) else np.load(BytesIO(value))

    rows = pq.read_table(path).to_pylist()
    return {row.pop("key"): {n: read(value) for n, value in row.items()} for row in rows}


def run_ray(module: ModuleType, out: Path, **settings: Any) -> dict[str, dict[str, Any]]:
    """``main`` with a cluster that is already there."""
    import ray

    ray.cloudpickle.register_pickle_by_value(module)
    sys.argv = ["augment.py", f"--out={out}", *(f"--{k}={v}" for k, v in settings.items())]
    module.main()
    read = parquet_samples if settings.get("format") == "parquet" else tar_samples
    return {k: s for path in sorted(out.iterdir()) for k, s in read(path).items()}


def ray(path: Path, data: str, names: list[str]) -> Iterator[dict[str, Any]]:
    module = load(path / "augment.py")
    written = run_ray(module, path / "out", data=data, actors=1, threads=1)
    samples, size = list(written.values()), module.BATCH_SIZE
    for start in range(0, len(samples), size):
        yield {name: [s[name] for s in samples[start : start + size]] for name in names}


TARGETS: dict[str, Callable[[Path, str, list[str]], Iterator[dict[str, Any]]]] = {
    f.__name__: f
    for f in (
        script,
        pytorch,
        lightning,
        jax,
        tensorflow,
        dynamic,
        notebook,
        triton,
        ray,
        keras,
        huggingface,
        proxy,
    )
}
