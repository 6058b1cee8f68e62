"""What several targets share: a sharded pipeline, a loader, and the fields of their templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.emit.core.code import Code
from workbench.emit.core.epoch_shuffle import NO_CHECKPOINT, shuffles_after_epoch
from workbench.emit.core.outputs import (
    Outputs,
    class_numbers,
    first_reader,
    require_arrays,
    require_even,
    require_one_size,
    require_signed,
    require_unsharded,
)
from workbench.emit.core.python import INDENT, constant
from workbench.emit.templates.cores import BUILD_ON_THESE_CORES, CORES_FUNCTION, CORES_IMPORTS
from workbench.emit.templates.ragged_boxes import (
    find_detection,
    list_outputs,
    ragged_fields,
    ragged_template,
)
from workbench.emit.templates.rendering import render_program
from workbench.emit.templates.template_parts import (
    TemplateParts,
    fill_template,
    pipeline_parts,
    shard_seed,
)
from workbench.graph.execution.pipelines import SHARD_SEED
from workbench.graph.model import Graph, Node
from workbench.graph.resolved import ResolvedGraph

BUILD = '''\
def build_pipeline(
«    data: str,»
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
    shard_id: int = 0,
    num_shards: int = 1,
    device_id: int = 0,
) -> Pipeline:
    """Return the built pipeline of one shard.

    ``device`` says where images are decoded, cpu or mixed; ``device_id`` on which GPU.
    """
    pipe = $function(
«        data,»
        device,
        seed + 100_000 * shard_id,  # shards draw apart
        shard_id,
        num_shards,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=$shard_device,
        prefetch_queue_depth=$prefetch,
${shard_seed}    )
    pipe.build()
    return pipe
'''

_RESUMABLE_DOC = """\
    With ``resumable`` the loader can save its state; ``checkpoint`` resumes from a saved one.
"""
_KEPT = "enable_checkpointing=$checkpointing,\n"
RESUMABLE_BUILD = (
    BUILD.replace(
        ") -> Pipeline",
        "    resumable: bool = False,\n    checkpoint: bytes | None = None,\n) -> Pipeline",
    )
    .replace(
        "GPU.\n",
        f"GPU.\n{_RESUMABLE_DOC}",
    )
    .replace(
        "$prefetch,\n",
        f"$prefetch,\n        {_KEPT}",
    )
    .replace("    )\n", "        checkpoint=checkpoint,\n    )\n")
)
"""``build_pipeline`` that can resume from a checkpoint."""

BUILD_SEVERAL = f'''\
{CORES_FUNCTION}def build_pipelines(
«    data: str,»
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
    shard_id: int = 0,
    num_shards: int = 1,
    device_id: int = 0,
) -> list[Pipeline]:
    """Return the built pipelines of one shard, which read a part of it each and take turns.

    ``num_threads`` are those of each; ``device`` says where images are decoded, cpu or mixed;
    ``device_id`` on which GPU.
    """
    pipes = []
    for shard in range(PIPELINES * shard_id, PIPELINES * (shard_id + 1)):
        pipe = $function(
«            data,»
            device,
            seed + {SHARD_SEED:_} * shard,  # shards draw apart
            shard,
            PIPELINES * num_shards,
            batch_size=batch_size,
            num_threads=num_threads,
            device_id=$shard_device,
            prefetch_queue_depth=$prefetch,
${{several_seed}}        )
{BUILD_ON_THESE_CORES}        pipes.append(pipe)
    return pipes
'''
"""``build_pipelines``, for several pipelines side by side."""

BATCH_SIZES = '''\
def batch_sizes(meta: dict[str, int], epoch: int, batch_size: int) -> list[int]:
    """Return the number of samples in each batch of one epoch of a reader's shard.

    All shards have the same number of batches, and no batch is empty: where the last one
    would be, the batch before it leaves it one sample. With a batch size of 1 this is not
    possible: a shard that has one sample less has one batch less.
    """
    samples, shards = meta["epoch_size"], meta["number_of_shards"]
    # A reader moves to the next shard after each epoch.
    shard = (meta["shard_id"] + (0 if meta["stick_to_shard"] else epoch)) % shards
    size = (shard + 1) * samples // shards - shard * samples // shards
    sizes = [min(batch_size, size - start) for start in range(0, size, batch_size)]
    if batch_size > 1 and size % batch_size == 0 and size * shards < samples:
        sizes[-1:] = [batch_size - 1, 1]  # another shard has one sample more
    return sizes


'''
# DALI pads the batches, and the loader cuts the padding off: DALI itself would return empty
# batches, and padding repeats the last sample, which is the one that the last batch needs.
_POLICY = "LastBatchPolicy.FILL if self.partial else last_batch"
_LEFT_EARLY = """\
    An epoch that is left early continues with the next ``iter``, or is skipped with
    ``restart=True``. One loader has one iterator at a time: the older one raises RuntimeError.
"""
_REPLACED = """\
            if self.newest is not current:
                raise RuntimeError("a newer iterator has replaced this one")
"""

LOADER = f'''\
{BATCH_SIZES}class Loader:
    """Batches as dictionaries of tensors: $listed.

    One pass is one epoch of the pipeline's shard: every sample once, the last batch as short
    as it comes. Every rank has the same number of batches, and none is empty: see
    ``batch_sizes``. ``last_batch`` can repeat the last sample (FILL) or drop a short batch
    (DROP) instead.
{_LEFT_EARLY}$labels_doc    """

    def __init__(
        self,
        pipe: Pipeline,
        last_batch: LastBatchPolicy = LastBatchPolicy.PARTIAL,
        restart: bool = False,
    ) -> None:
        self.partial, self.restart = last_batch == LastBatchPolicy.PARTIAL, restart
        self.meta, self.batch_size = pipe.reader_meta("$reader"), pipe.max_batch_size
        self.batches = $iterator(
            [pipe],
            OUTPUTS,
$output_types            reader_name="$reader",  # it knows how long an epoch is
            last_batch_policy={_POLICY},
            auto_reset=True,
        )
        # Batches of this epoch; DALI has prepared and counted the next one.
        self.given = max(0, int(self.batches._counter) // self.batch_size - 1)
        self.newest: object = None

    def sizes(self) -> list[int]:
        """Return the number of samples in each batch of the current epoch."""
        if not self.partial:
            return [self.batch_size] * len(self.batches)
        epoch = int(self.batches._shards_id[0]) - self.meta["shard_id"]
        return batch_sizes(self.meta, epoch, self.batch_size)

    def __len__(self) -> int:
        return len(self.sizes())

    def end_epoch(self) -> None:
        """Skip the rest of the epoch."""
        while next(self.batches, None):
            pass
        self.given = 0

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        self.newest = current = object()
        if self.restart and self.given:
            self.end_epoch()
        sizes = self.sizes()
        for number in range(self.given, len(sizes)):
{_REPLACED}            (batch,) = next(self.batches)  # a list with one entry for each pipeline
            self.given = number + 1
            if self.given == len(sizes):
                self.end_epoch()  # a consumer may stop here
$squeeze            yield {{name: values[: sizes[number]] for name, values in batch.items()}}

    def checkpoint(self) -> bytes:
        """Return the state of the loader of a resumable pipeline."""
        return self.batches.checkpoints()[0]
'''
"""A loader over DALI's PyTorch iterator."""


def with_cores(template: str) -> str:
    """A template with what ``cores_without_interrupts`` needs to be imported."""
    before, name, after = template.partition("from collections.abc import ")
    line, _, after = after.partition("\n")
    needed = "".join(each for each in CORES_IMPORTS if each not in template)
    return f"{before}{name}{line}\n{needed}{after}"


def replaced(template: str, *parts: tuple[str, str]) -> str:
    """A template with parts of it exchanged, each of which it has once."""
    for old, new in parts:
        before, _, after = template.partition(old)
        assert old in template
        assert old not in after
        template = before + new + after
    return template


@dataclass(frozen=True, slots=True)
class Module:
    """A graph on its way into a template of its own."""

    graph: Graph
    nodes: Sequence[Node]
    outputs: Outputs
    parts: TemplateParts
    lists: Sequence[str] = ()
    """The outputs that are lists of tensors, for their samples differ in shape."""

    def _labels_doc(self) -> str:
        text = "    Labels are int64 of the shape [N].\n" if self.labels else ""
        if self.lists:
            text += "    The outputs in ``LISTS`` are lists with a tensor for each image.\n"
        return text

    @property
    def labels(self) -> list[str]:
        """The outputs that are class numbers."""
        return class_numbers(self.outputs)

    def render(self, template: str, **more: object) -> Code:
        """A template of a loader, with ``more`` values of its own."""
        names = ", ".join(f"``{name}``" for name in self.outputs)
        fixed = [node.op for node in self.nodes if node.op in NO_CHECKPOINT]
        always = shuffles_after_epoch(self.nodes)
        return render_program(
            template,
            self.parts,
            outputs=[*self.outputs],
            listed=names if len(names) < 40 else f"the {len(self.outputs)} of ``OUTPUTS``",
            labels=self.labels,
            lists=self.lists,
            reader=first_reader(self.nodes).id,
            checkpointing="True" if always else "resumable or checkpoint is not None",
            cannot_checkpoint=fixed[0] if fixed else "",
            **more,
        )

    def fill(self, template: str, **more: str) -> Code:
        """The template with the fields of the parts and those that sharded targets share."""
        names = ", ".join(f"``{name}``" for name in self.outputs)
        fixed = [node.op for node in self.nodes if node.op in NO_CHECKPOINT]
        fields = {
            "outputs": "\n".join(constant("OUTPUTS", quoted_list(self.outputs))),
            "reader": first_reader(self.nodes).id,
            "listed": names if len(names) < 40 else f"the {len(self.outputs)} of ``OUTPUTS``",
            "labels_doc": self._labels_doc(),
            "iterator": "DALIGenericIterator",
            "output_types": "",
            "several_types": "",
            **(ragged_fields(self.outputs, self.lists) if self.lists else {}),
            "resumable": f"False,  # DALI cannot checkpoint {fixed[0]}" if fixed else "True,",
            "checkpointing": "True"
            if shuffles_after_epoch(self.nodes)
            else "resumable or checkpoint is not None",
            "shard_seed": shard_seed(self.parts, "shard_id", INDENT * 2),
            "several_seed": shard_seed(self.parts, "shard", INDENT * 3),
            "shard_device": "device_id" + self.parts.device_id.removeprefix("0"),
            **({"os": self.parts.with_os} if self.graph.settings.pipelines > 1 else {}),
        }
        if self.lists:
            found = find_detection(self.graph, self.outputs)
            template = ragged_template(template, detection=found is not None)
        return fill_template(template, self.parts, **fields | more)


def sharded_module(
    resolved: ResolvedGraph,
    target: str,
    *,
    ragged: bool = False,
    validation: ResolvedGraph | None = None,
) -> Module:
    """The graph with readers that read one shard. Raises GraphExportError.

    With ``ragged``, outputs whose samples differ in shape are lists; ``validation`` becomes a
    second pipeline.
    """
    graph, nodes, outputs = resolved.graph, resolved.nodes, resolved.outputs
    require_unsharded(nodes, target)
    lists = list_outputs(graph, outputs) if ragged else []
    if target != "ray":  # it writes sample by sample
        require_arrays(graph, outputs, target)
        if not ragged:
            require_even(graph, outputs, target)
        require_one_size(graph, outputs, lists, target)
    shard = ("shard_id", "num_shards")
    parts = pipeline_parts(resolved, sharded=True, taken=shard, validation=validation)
    return Module(graph, nodes, outputs, parts, lists)


def torch_module(
    resolved: ResolvedGraph, target: str, validation: ResolvedGraph | None = None
) -> Module:
    """The graph for a loader of PyTorch. Raises as ``sharded_module``."""
    module = sharded_module(resolved, target, ragged=True, validation=validation)
    require_signed(resolved.graph, module.outputs, target)
    return module


def quoted_list(names: Sequence[str] | Outputs) -> str:
    """Names as the source of a list."""
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"
