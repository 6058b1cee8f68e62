"""PaddlePaddle: a loader around DALI's Paddle iterator."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.emit.core.code import Code
from workbench.emit.core.outputs import require_signed
from workbench.emit.targets import Target
from workbench.emit.templates.loader_module import LOADER, RESUMABLE_BUILD, sharded_module
from workbench.graph.resolved import ResolvedGraph

_TEMPLATE = f'''\
"""$title

Batches as PaddlePaddle tensors. DALI's Paddle iterator asks for a GPU, also where images
are decoded on the CPU.

Usage: python loader.py« --data DIR» [--device cpu|mixed] [--batch-size N] [--epochs N]
       python -m paddle.distributed.launch loader.py« --data DIR»    (one shard to a GPU)

Needs paddlepaddle-gpu and nvidia-dali-cuda120.
"""

import argparse
${{with_os}}import time
from collections.abc import Iterator
$any
import paddle
from nvidia.dali import fn$math, pipeline_def$imports
${{policies}}from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline$not_converted
from nvidia.dali.plugin.base_iterator import LastBatchPolicy
from nvidia.dali.plugin.paddle import DALIGenericIterator
from paddle import Tensor

$constants
$outputs


$finder$definition


{RESUMABLE_BUILD}

{LOADER}

def main() -> None:
    parser = argparse.ArgumentParser(description="Read the batches and print imgs/s.")
«    parser.add_argument("--data", required=True, help="folder of images")»
    parser.add_argument("--device", choices=["cpu", "mixed"], default=DEVICE)
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE, help="per rank")
    parser.add_argument("--threads", type=int, default=NUM_THREADS, help="per rank")
    parser.add_argument("--epochs", type=int, default=1)
    args = parser.parse_args()

    rank = int(os.environ.get("PADDLE_TRAINER_ID", "0"))  # the launcher sets it
    pipe = build_pipeline(
«        args.data,»
        args.batch_size,
        args.threads,
        args.device,
        shard_id=rank,
        num_shards=int(os.environ.get("PADDLE_TRAINERS_NUM", "1")),
        device_id=int(os.environ.get("PADDLE_LOCAL_RANK", "0")),
    )
    loader = Loader(pipe)
    for epoch in range(args.epochs):
        start = time.perf_counter()
        samples = sum(batch[OUTPUTS[0]].shape[0] for batch in loader)
        seconds = time.perf_counter() - start
        speed = f"{{samples / seconds:.0f}} imgs/s"
        print(f"rank {{rank}}, epoch {{epoch}}: {{samples}} samples, {{speed}}")


if __name__ == "__main__":
    main()
'''


def emit_paddle(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """The module ``loader.py``."""
    module = sharded_module(resolved, "paddle")
    require_signed(resolved.graph, module.outputs, "paddle")
    convert = f"{' ' * 12}batch = {{n: paddle.to_tensor(t) for n, t in batch.items()}}\n"
    squeeze = [
        f'{" " * 12}batch["{name}"] = batch["{name}"].squeeze(-1).astype("int64")\n'
        for name in module.labels
    ]
    source = module.fill(_TEMPLATE, squeeze=convert + "".join(squeeze), shard_device="device_id")
    return {"loader.py": source}


TARGET = Target("a loader around DALI's Paddle iterator", emit_paddle)
