"""Lightning: a data module around the PyTorch loader; with training also a module to train."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.emit.core.code import Code
from workbench.emit.core.outputs import outputs_of_kind
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
from workbench.graph.execution.dataset_parameters import parameters
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.variants.validation import validation_graph

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

{LOADER}

CLASS""".replace(
    "CLASS",
    '''\
class PipelineData(lightning.LightningDataModule):
    """Each rank of the trainer reads its own shard on its own GPU; resumes with the trainer.

    With ``limit_train_batches`` an epoch continues where the one before it stopped.
    """

    def __init__(
        self,
«        data: str,»
        batch_size: int = BATCH_SIZE,
        num_threads: int = NUM_THREADS,
        device: str = DEVICE,
        seed: int = SEED,
        resumable: bool = $resumable
    ) -> None:
        super().__init__()
«        self.data = data»
        self.batch_size, self.num_threads = batch_size, num_threads
        self.device, self.seed = device, seed
        self.resumable = resumable
        self.loader: Loader | None = None
        self.saved: bytes | None = None  # state to resume from, once

    def last_batch(self) -> LastBatchPolicy:
        """Return the policy that gives all ranks the same number of batches."""
        assert self.trainer is not None, "a trainer calls this"
        # With batches of 1 sample a rank can have a batch less, and the others would wait.
        fill = self.trainer.world_size > 1 and self.batch_size == 1
        return LastBatchPolicy.FILL if fill else LastBatchPolicy.PARTIAL

    def train_dataloader(self) -> Loader:
        assert self.trainer is not None, "a trainer calls this"
        pipe = build_pipeline(
«            self.data,»
            self.batch_size,
            self.num_threads,
            self.device,
            self.seed,
            shard_id=self.trainer.global_rank,
            num_shards=self.trainer.world_size,
            device_id=self.trainer.strategy.root_device.index or 0,
            resumable=self.resumable,
            checkpoint=self.saved,
        )
        self.loader, self.saved = Loader(pipe, self.last_batch()), None
        return self.loader

    def state_dict(self) -> dict[str, Any]:
        # Every rank comes here, but the file of rank 0 is the one that is kept.
        mine = self.loader.checkpoint() if self.loader and self.resumable else None
        every = [mine]
        if distributed.is_available() and distributed.is_initialized():
            every = [None] * distributed.get_world_size()
            distributed.all_gather_object(every, mine)
        return {"loaders": every}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        assert self.trainer is not None, "a trainer calls this"
        every, ranks = state_dict["loaders"], self.trainer.world_size
        if len(every) != ranks:
            raise ValueError(f"resume with {len(every)} ranks as saved, not {ranks}")
        self.saved = every[self.trainer.global_rank]
''',
)

_TEMPLATE = f'''\
"""$title

A LightningDataModule of these batches:

    trainer.fit(model, datamodule=PipelineData(«"DIR", »device="mixed"))

Needs lightning, torch and nvidia-dali-cuda120.
"""

${{os}}from collections.abc import Iterator
from typing import Any

import lightning
{_IMPORTS}from torch import Tensor, distributed

{_BODY}'''

_TRAINING = f'''\
"""$title

A LightningDataModule of these batches, and a module to start from.

Usage: python datamodule.py« --data DIR» [--device cpu|mixed] [--epochs N] [--resume CKPT]

Needs lightning, torch$also and nvidia-dali-cuda120.
"""

import argparse
${{os}}from collections.abc import Iterator
from typing import Any

import lightning
import torch
import torch.nn.functional as F
from lightning.pytorch.utilities.types import OptimizerLRScheduler
{_IMPORTS}from torch import Tensor, distributed, nn

{_BODY}

${{detection}}def loss_of(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    """$loss_doc"""
$loss


class Model(lightning.LightningModule):
    """A model to put yours in the place of."""

    def __init__(self$classes) -> None:
${{model_import}}        super().__init__()
        self.model = $model

    def training_step(self, batch: dict[str, Tensor], index: int) -> Tensor:
        size = len(batch[OUTPUTS[0]])
        loss = loss_of(self.model, batch) / size
        self.log("loss", loss, prog_bar=True, batch_size=size)
        return loss

    def configure_optimizers(self) -> OptimizerLRScheduler:
        return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train on the pipeline's batches.")
«    parser.add_argument("--data", required=True, help="folder of images")»
    parser.add_argument("--device", choices=["cpu", "mixed"], default=DEVICE)
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE, help="per rank")
    parser.add_argument("--threads", type=int, default=NUM_THREADS, help="per rank")
    parser.add_argument("--epochs", type=int, default=1)
$class_option    parser.add_argument("--resume", metavar="CKPT", help="a checkpoint of the trainer")
    args = parser.parse_args()

    data = PipelineData(«args.data, »args.batch_size, args.threads, args.device)
    trainer = lightning.Trainer(max_epochs=args.epochs, log_every_n_steps=1)
    trainer.fit(Model($given), datamodule=data, ckpt_path=args.resume)


if __name__ == "__main__":
    main()
'''


def _side_by_side(template: str) -> str:
    return replaced(
        side_by_side(template),
        ("pipe = build_pipeline(", "pipes = build_pipelines("),
        (
            "        self.loader, self.saved = Loader(pipe, self.last_batch()), None\n",
            "        self.loader = Loader(pipes, self.last_batch(), self.saved)\n"
            "        self.saved = None\n",
        ),
        ("self.saved: bytes | None", "self.saved: dict[str, Any] | None"),
    )


_VALIDATING_BUILD = replaced(
    RESUMABLE_BUILD,
    (
        ",\n) -> Pipeline",
        ",\n    define: Any = $function,\n) -> Pipeline",
    ),
    (
        "from a saved one.\n",
        "from a saved one.\n    ``$validation_function`` does not shuffle and is not random.\n",
    ),
    ("    pipe = $function(\n", "    pipe: Pipeline = define(\n"),
)
_TRAIN = _BODY[_BODY.index("    def train_dataloader") : _BODY.index("    def state_dict")]
_TRAIN_AND_VALIDATE = """\
    def build(self, data: str, **options: Any) -> Pipeline:
        assert self.trainer is not None, "a trainer calls this"
        return build_pipeline(
            data,
            self.batch_size,
            self.num_threads,
            self.device,
            self.seed,
            shard_id=self.trainer.global_rank,
            num_shards=self.trainer.world_size,
            device_id=self.trainer.strategy.root_device.index or 0,
            **options,
        )

    def train_dataloader(self) -> Loader:
        pipe = self.build(self.data, resumable=self.resumable, checkpoint=self.saved)
        self.loader, self.saved = Loader(pipe, self.last_batch()), None
        return self.loader

    def val_dataloader(self) -> Loader | list[Any]:
        if self.val_data is None:
            return []
        pipe = self.build(self.val_data, define=$validation_function)
        # The sanity check leaves its epoch early.
        return Loader(pipe, self.last_batch(), restart=True)

"""
_OPTION = '«    parser.add_argument("--data", required=True, help="folder of images")»\n'
_STEP = """\
    def validation_step(self, batch: dict[str, Tensor], index: int) -> None:
        size = len(batch[OUTPUTS[0]])
        loss = loss_of(self.model, batch) / size
        self.log("val_loss", loss, prog_bar=True, batch_size=size)

"""


def _validating(template: str) -> str:
    """A template with a second pipeline, for the data that validate."""
    template = replaced(
        template,
        ("$finder$definition\n\n\n", "$finder$definition\n\n\n${validation}"),
        (RESUMABLE_BUILD, _VALIDATING_BUILD),
        (
            "        self,\n«        data: str,»\n",
            "        self,\n«        data: str,»\n        val_data: str | None = None,\n",
        ),
        ("«        self.data = data»\n", "        self.data, self.val_data = «data», val_data\n"),
        (_TRAIN, _TRAIN_AND_VALIDATE),
    )
    if _OPTION not in template:
        return template
    return replaced(
        template,
        (_OPTION, f'{_OPTION}    parser.add_argument("--val-data", help="of the same kind")\n'),
        (
            "PipelineData(«args.data, »args.batch_size, args.threads, args.device)",
            "PipelineData(\n        «args.data», args.val_data, args.batch_size, args.threads, "
            "args.device\n    )",
        ),
        ("    def configure_opt", "${validation_step}    def configure_opt"),
    )


def _template(template: str, validation: ResolvedGraph | None, pipelines: int) -> str:
    if validation is not None:
        return _validating(template)
    return template if pipelines == 1 else _side_by_side(template)


def _module(resolved: ResolvedGraph) -> tuple[Module, ResolvedGraph | None]:
    """The graph, and what validates where it can be told: with one pipeline, image and data."""
    graph = resolved.graph
    images = outputs_of_kind(resolved.outputs, "image")
    simple = len(images) == len(parameters(graph.nodes)) == graph.settings.pipelines == 1
    made = validation_graph(graph, resolved.catalog) if simple else None
    validation = None if made is None or made == graph else resolved.variant(made)
    return torch_module(resolved, "lightning", validation), validation


def emit_lightning(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """The module ``datamodule.py``."""
    module, validation = _module(resolved)
    template = _template(_TEMPLATE, validation, resolved.graph.settings.pipelines)
    fields = {"squeeze": squeezed_labels(module)}
    return {"datamodule.py": module.fill(template, **fields)}


def emit_training(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """The same with a module to train."""
    module, validation = _module(resolved)
    fields = training_fields(module, "lightning", classes="classes", indent="        ")
    knows = bool(fields["class_option"])
    template = _template(_TRAINING, validation, resolved.graph.settings.pipelines)
    fields |= {"classes": ", classes: int" if knows else "", "given": "args.classes" * knows}
    fields["validation_step"] = "" if fields["detection"] else _STEP  # it gives boxes, no loss
    return {"datamodule.py": module.fill(template, **fields)}


TARGET = Target(
    "a LightningDataModule around the PyTorch loader, with validation",
    emit_lightning,
    side_by_side=True,
    training=emit_training,
)
