"""Replace a pipeline's input with the user's own data."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from workbench.emit.pipeline_import.trace.traced import TracedInput, TracedOp, TracedPipeline

_EXTERNAL = "ExternalSource"
_DECODING = ("decoders__Image", "PeekImageShape", "decoders__Audio")
_KEPT = ("random_shuffle", "shuffle_after_epoch", "shuffle_after_epoch_seed", "shard_id",
         "num_shards", "stick_to_shard", "pad_last_batch", "seed")  # fmt: skip
_FILES = "readers__File"


def with_folder(pipeline: TracedPipeline) -> TracedPipeline:
    """Replace the image input of a pipeline with a folder reader.

    Sources connected to an image decoder are replaced. If there are none, the first source is
    replaced, and a decoder is added. Only the image and label outputs of a source are replaced.
    """
    pipeline = replace(pipeline, ops=tuple(_merged_source_calls(pipeline.ops)))
    decoded = {
        edge.edge for op in pipeline.ops if op.schema.startswith(_DECODING) for edge in op.inputs
    }
    sources = [op for op in pipeline.ops if _is_source(op)]
    feeding = [op for op in sources if any(edge in decoded for edge, _ in op.outputs)]
    replaced = {op.name for op in feeding or sources[:1]}
    read = {edge.edge for op in pipeline.ops for edge in op.inputs}
    read |= {edge.edge for edge in pipeline.outputs}
    ops: list[TracedOp] = []
    for op in pipeline.ops:
        ops.extend(_replaced(op, decoded, read) if op.name in replaced else [op])
    return replace(pipeline, ops=tuple(ops))


def _merged_source_calls(ops: Sequence[TracedOp]) -> Iterator[TracedOp]:
    """Merge DALI's calls for one external source into one call, and yield all calls."""
    groups: dict[object, list[TracedOp]] = {}
    for op in ops:
        external = op.schema == _EXTERNAL and op.refused and op.places
        groups.setdefault(op.places if external else op.name, []).append(op)
    for first, *others in groups.values():
        outputs = (*first.outputs, *(edge for other in others for edge in other.outputs))
        yield replace(first, outputs=outputs) if others else first


def _is_source(op: TracedOp) -> bool:
    reads = op.schema.startswith(("readers__", "experimental__readers__"))
    return not op.inputs and (reads or op.schema == _EXTERNAL)


def _replaced(
    op: TracedOp, decoded: Collection[str], used_edges: Collection[str]
) -> list[TracedOp]:
    if op.schema == _FILES and op.kind != "numpy_files":
        return [op]
    used = [output for output in op.outputs if output[0] in used_edges] or list(op.outputs[:1])
    image = next((output for output in used if output[0] in decoded), used[0])
    others = [output for output in used if output != image]
    labels, rest = others[:1], others[1:]
    encoded = image if image[0] in decoded else (f"{image[0]}_encoded", "cpu")
    made = [
        replace(
            op,
            schema=_FILES,
            device="cpu",
            outputs=((encoded[0], "cpu"), *((edge, device) for edge, device in labels)),
            args={name: value for name, value in op.args.items() if name in _KEPT},
            refused=None,
            kind="folder",
            ports=("jpegs", "labels")[: 1 + len(labels)],
            changed=f"it reads your folder instead of the data of {op.display or op.schema}",
        )
    ]
    if encoded != image:
        made.append(
            TracedOp(
                schema="decoders__Image",
                name=f"{op.name}_decode",
                device="mixed" if image[1] == "gpu" else "cpu",
                inputs=(TracedInput(encoded[0], "cpu"),),
                outputs=(image,),
                places=op.places,
                module="nvidia.dali.fn.decoders",
                display="image",
            )
        )
    if rest:
        left = tuple(
            (f"{edge}_unread" if (edge, d) not in rest else edge, d) for edge, d in op.outputs
        )
        made.append(replace(op, name=f"{op.name}_rest", outputs=left))
    return made
