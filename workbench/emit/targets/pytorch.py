"""PyTorch: a loader; with training also a loop to start from that runs under ``torchrun``."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.emit.core.code import Code
from workbench.emit.targets import Target
from workbench.emit.templates.loader_module import (
    LOADER,
    RESUMABLE_BUILD,
    Module,
    replaced,
    side_by_side,
    squeezed_labels,
    torch_module,
)
from workbench.emit.templates.training_loop import training_fields
from workbench.graph.resolved import ResolvedGraph

_IMPORTS = """\
from nvidia.dali import fn$math, pipeline_def$imports
${policies}from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline$not_converted
from nvidia.dali.plugin.base_iterator import LastBatchPolicy
from nvidia.dali.plugin.pytorch import DALIGenericIterator
"""

_BODY = f"""\
$constants
$outputs


$finder$definition


{RESUMABLE_BUILD}

{LOADER}"""

_TEMPLATE = f'''\
"""$title

Batches as PyTorch tensors:

    for batch in Loader(build_pipeline(«"DIR", »shard_id=rank, num_shards=world_size)):
        ...

Needs torch and nvidia-dali-cuda120.
"""

${{os}}from collections.abc import Iterator
$any
{_IMPORTS}from torch import Tensor

{_BODY}'''

_TRAINING = f'''\
"""$title

A PyTorch loader, and a training loop to start from.

Usage: python loader.py« --data DIR» [--device cpu|mixed] [--epochs N] [--save FILE]
       torchrun --nproc-per-node 2 loader.py« --data DIR»    (each rank reads one shard)

Needs torch$also and nvidia-dali-cuda120.
"""

import argparse
${{with_os}}from collections.abc import Iterator
from pathlib import Path
$any
import torch
import torch.nn.functional as F
{_IMPORTS}from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

{_BODY}

${{detection}}def loss_of(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    """$loss_doc"""
$loss


def train(args: argparse.Namespace) -> None:
    """A loop to start from, with a model to put yours in the place of."""
${{model_import}}    rank = int(os.environ.get("RANK", "0"))  # torchrun sets these three
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    place = torch.device("cpu")
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank)
        place = torch.device("cuda", local_rank)
    if world_size > 1:
        distributed.init_process_group("nccl" if place.type == "cuda" else "gloo")

    model: nn.Module = $model.to(place)
    if world_size > 1:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    # Each rank reads its own shard and saves its own file.
    file = Path(f"{{args.save}}.{{rank}}") if args.save else None
    saved = {{}}
    if file and file.exists():
        saved = torch.load(file, map_location=place, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
    pipe = build_pipeline(
«        args.data,»
        args.batch_size,
        args.threads,
        args.device,
        shard_id=rank,
        num_shards=world_size,
        device_id=local_rank,
        resumable=file is not None,
        checkpoint=saved.get("loader"),
    )
    # With batches of 1 sample a rank can have a batch less, and the others would wait for it.
    fill = world_size > 1 and args.batch_size == 1
    last_batch = LastBatchPolicy.FILL if fill else LastBatchPolicy.PARTIAL
    loader = Loader(pipe, last_batch)
    for epoch in range(saved.get("epochs", 0), args.epochs):
        total, count = torch.zeros((), device=place), 0
        for batch in loader:
$to_place            loss = loss_of(model, batch)
            size = len(batch[OUTPUTS[0]])
            optimizer.zero_grad()
            (loss / size).backward()
            optimizer.step()
            total, count = total + loss.detach(), count + size
        print(f"rank {{rank}}, epoch {{epoch}}: {{count}} samples, loss {{total / count:.3f}}")
        if file:
            state = {{
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "loader": loader.checkpoint(),
                "epochs": epoch + 1,
            }}
            torch.save(state, file)
    if world_size > 1:
        distributed.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description="Train on the pipeline's batches.")
«    parser.add_argument("--data", required=True, help="folder of images")»
    parser.add_argument("--device", choices=["cpu", "mixed"], default=DEVICE)
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE, help="per rank")
    parser.add_argument("--threads", type=int, default=NUM_THREADS, help="per rank")
    parser.add_argument("--epochs", type=int, default=1)
$class_option    parser.add_argument("--save", metavar="FILE", help="save epochs here, and resume")
    train(parser.parse_args())


if __name__ == "__main__":
    main()
'''


_SEVERAL = replaced(
    side_by_side(_TEMPLATE),
    ("Loader(build_pipeline(", "Loader(build_pipelines("),
    ("$any\n", "from typing import Any\n\n"),
)
_TRAINING_SEVERAL = replaced(
    side_by_side(_TRAINING, 'saved.get("loader")'), ("$any\n", "from typing import Any\n\n")
)


def emit_pytorch(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """The module ``loader.py``."""
    module = torch_module(resolved, "pytorch")
    template = _TEMPLATE if resolved.graph.settings.pipelines == 1 else _SEVERAL
    return {"loader.py": module.fill(template, squeeze=squeezed_labels(module))}


def emit_training(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """The same with a training loop."""
    module = torch_module(resolved, "pytorch")
    fields = training_fields(module, "pytorch", classes="args.classes", indent="    ")
    template = _TRAINING if resolved.graph.settings.pipelines == 1 else _TRAINING_SEVERAL
    return {"loader.py": module.fill(template, to_place=_to_place(module), **fields)}


def _to_place(module: Module) -> str:
    """The lines that bring a batch to the model's device."""
    if not module.lists:
        return " " * 12 + "batch = {name: tensor.to(place) for name, tensor in batch.items()}\n"
    return (
        "            for name, found in batch.items():\n"
        "                if name in LISTS:\n"
        "                    batch[name] = [tensor.to(place) for tensor in found]\n"
        "                else:\n"
        "                    batch[name] = found.to(place)\n"
    )


TARGET = Target(
    "a loader of a shard for each rank, which resumes from a checkpoint",
    emit_pytorch,
    side_by_side=True,
    training=emit_training,
)
