"""Generate code that transforms masks in the same way as an image, with nearest neighbour sampling.

An image may be interpolated by several operators. Resampling the mask at each of them would add
rounding errors, so their transforms are combined, and the mask is transformed once. A region
that one operator crops and a later operator would reveal is treated as outside the image: from the
first crop on, an image of ones is transformed along with the image to mark such regions.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from workbench.catalog.spec import Value
from workbench.emit.annotations.follower_writer import FollowerWriter
from workbench.errors import GraphError
from workbench.graph.annotations.geometry import GeometryStep
from workbench.graph.annotations.sides import numbered_pairs
from workbench.graph.model import Node, Port
from workbench.graph.model.values import elements
from workbench.names import join_words

_AS: dict[str, str] = {
    "BOOL": "UINT8",
    "UINT16": "FLOAT",
    "UINT32": "FLOAT",
    "INT32": "FLOAT",
    "INT64": "FLOAT",
    "FLOAT16": "FLOAT",
}
"""Types to which a mask is cast, for element types that DALI's geometric operators do not support.
FLOAT is exact up to 2^24, which covers the ids of panoptic masks.
"""
_EXACT = 2**24
"""FLOAT represents every integer up to this one exactly."""
_LARGEST = {
    **{"BOOL": 1, "INT8": 127, "UINT8": 255, "INT16": 32767, "UINT16": 65535, "FLOAT16": 2048},
    **dict.fromkeys(("UINT32", "INT32", "INT64", "FLOAT"), _EXACT),
}
"""Largest integer that a mask represents exactly, by element type; 255 if the type is unknown."""
_FILLS = {"fill_value", "fill_values"}
"""Names of arguments that set the values of pixels outside the image."""
_OF_BYTES = "paste"
"""Operator that supports only bytes. Masks of other types are passed to it as four byte channels.
"""


class MaskWriter(FollowerWriter):
    """Writes the code that transforms masks, or that composes the transform for a later warp."""

    def follow(self) -> None:
        """Write one warp with the combined transform, or one call per operator of the image."""
        if self.carries_map or self.path.in_one_warp:
            self._write_warped()
        else:
            self.write_carried()

    def write_carried(self) -> None:
        """Write the calls that apply each operator of the image to the masks.

        For a ``carry_map`` node, write the combined transform instead, and the image of ones that
        marks the part that no operator cropped.
        """
        if self.node.op != "carry_map":
            output = "masks" if self.node.op == "follow_masks" else "moved"
            fed = "moved" if "moved" in self.node.inputs else "masks"
            mask = self.variable(output, fed)
            dtype = self._assign_mask(mask, fed)
            steps, called = self.path.steps, list[str]()
            starts = [0, *(at for at, step in enumerate(steps) if step.mix), len(steps)]
            for first, end in pairwise(starts):  # the two images of a mix may be mirrored or not
                run = steps[first:end]
                called += self._walk(mask, run, dtype, self.interpolation, self._fill)
                self._swap(mask, self.mirrored(run) if self._pairs else "")
            if called:
                self.comment = f"The same {join_words(called)} for masks."
                if self.interpolation == "INTERP_NN":
                    self.comment += " Nearest neighbour keeps class numbers."
                if self._fill:
                    self.comment += f" {self._fill}: not in the image."
            self._cast_back(mask, dtype)
            self.add(self.output_variable(output), mask)
            return
        map_ = self.variable("map", "map")
        self._compose(map_)
        if sum(bool(step.rule.map) for step in self.path.steps) == 1 and not self.carries_map:
            # A branch that combines matrices has this layout, and all branches must agree.
            self.call(map_, "fn.reshape", map_, 'layout="**"')
        if self.node.args.get("cuts"):
            seen = self.variable("seen", "seen")
            self._show_uncut(seen)
            self.add(self.output_variable("seen"), seen)
        self.add(self.output_variable("map"), map_)

    def _write_warped(self) -> None:
        mask, port = self.variable("masks", "masks"), self.node.inputs["masks"]
        matrix = self._compose()
        dtype, size = self._assign_mask(mask, "masks"), self.size(self.path.frame)
        self.call(
            mask,
            "fn.warp_affine",
            *(mask, f"matrix={matrix}", f"size={size}[1::-1]", "inverse_map=False"),
            *(f"interp_type=types.{self.interpolation}", f"fill_value={self._fill}"),
        )
        if "seen" in self.node.inputs or (not self.carries_map and self.path.reuses_cropped_region):
            seen = self.name("seen")
            self._show_uncut(seen)
            if not self.on_cpu(port):
                seen = f"{seen}.gpu()"
            if self._fill:
                filled = f"{mask} * {seen} + {self._fill} * (1 - {seen})"
                self.call(mask, "fn.cast_like", filled, mask)
            else:
                self.add(mask, f"{mask} * {seen}")
        self._swap(mask, self.applied("reflects", matrix) if self._pairs else "")
        self._cast_back(mask, dtype)
        self.add(self.output_variable("masks"), mask)

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        return numbered_pairs(self.node)

    def _swap(self, mask: str, mirrored: str) -> None:
        """Write the call that swaps the left and right classes of mirrored images."""
        if not mirrored:
            return
        if mirrored != "True" and not self.on_cpu(next(iter(self.node.inputs.values()))):
            mirrored = f"{mirrored}.gpu()"
        self.call(mask, self.helper("swapped_masks"), mask, mirrored, str(self._pairs))

    def _compose(self, target: str = "") -> str:
        """Write the combined transform from mask to current image, and return its variable."""
        before = self.fed("map") if self.carries_map else ""
        steps = [step for step in self.path.steps if step.rule.map]
        if before or steps:
            return self.matrix(steps, before, target)
        target = target or self.name("matrix")
        self.call(target, "fn.transforms.translation", "offset=[0.0, 0.0]")
        return target

    def _show_uncut(self, seen: str) -> None:
        """Write the code for ``seen``, an image that is 0 where an operator cropped, else 1."""
        steps = self.path.steps
        if "seen" in self.node.inputs:
            self.add(seen, self.fed("seen"))
        else:
            first = next((at for at, step in enumerate(steps) if step.rule.cuts), len(steps) - 1)
            whole = steps[first].after if steps else self.node.inputs["image"]
            self.call(seen, self.helper("mask_of_ones"), self.size(whole))
            steps = steps[first + 1 :]
        self._walk(seen, steps, "UINT8", "INTERP_NN", 0)

    @property
    def interpolation(self) -> str:
        """Interpolation type of the masks: ``INTERP_LINEAR`` or ``INTERP_NN``."""
        linear = self.node.args.get("interpolation") == "linear"
        return "INTERP_LINEAR" if linear else "INTERP_NN"

    @property
    def carries_map(self) -> bool:
        """True if the node has the combined transform of an earlier image as an input."""
        return "map" in self.node.inputs

    @property
    def _fill(self) -> int:
        """Mask value of pixels outside the original image."""
        fill = self.node.args.get("fill", 0)
        return fill if isinstance(fill, int) else 0

    def _assign_mask(self, mask: str, input_name: str) -> str | None:
        """Assign the mask to a variable, cast to an element type that operators support.

        Returns the original element type, or None if it is unknown.
        """
        flow = self.flows.get(self.node.inputs[input_name])
        dtype = flow.dtype if flow else None
        most = _LARGEST.get(dtype or "", 255)
        if self._fill > most:
            raise GraphError(
                f"{self.node.id}.fill is {self._fill}, but its masks are {dtype}. Set it to at "
                f"most {most}."
            )
        if dtype in _AS:
            self.call(mask, "fn.cast", self.fed(input_name), f"dtype=types.{_AS[dtype]}")
        else:
            self.add(mask, self.fed(input_name))
        return dtype

    def _cast_back(self, mask: str, dtype: str | None) -> None:
        if dtype in _AS:
            self.call(mask, "fn.cast", mask, f"dtype=types.{dtype}")

    def _walk(
        self,
        mask: str,
        steps: Sequence[GeometryStep],
        dtype: str | None,
        interpolation: str,
        fill: int,
    ) -> list[str]:
        """Write the calls that apply the steps to a mask, and return the operators' names."""
        called: list[str] = []
        for step in steps:
            if step.mix and step.mix.window:
                ports = (step.mix.order, *step.mix.window)
                names = [self.emitter.names[port] for port in ports]
                self.call(mask, self.helper("mixed_masks"), mask, *names)
            for call_ in self._calls(step, interpolation, fill):
                self._call(step, mask, call_, dtype)
                called.append(call_.op)
        return called

    def _calls(self, step: GeometryStep, interpolation: str, fill: int) -> Iterator[Node]:
        """Yield the nodes that apply a step to masks: a copy of its node, or replacements."""
        node, catalog = step.node, self.emitter.catalog
        if step.rule.calls is None:
            spec = catalog[node.op]
            args: dict[str, Value] = {**node.args}
            own = {n: v for n, v in step.rule.mask.items() if n in spec.args}
            args |= {n: v for n, v in own.items() if n not in node.inputs}
            if "interp_type" in own:
                args["interp_type"] = interpolation
            for name in _FILLS & own.keys():
                args[name] = (fill,) if isinstance(own[name], tuple) else fill
            dropped = {n for n in own if args.get(n) == spec.args[n].default} | {"dtype"}
            yield replace(node, args={n: v for n, v in args.items() if n not in dropped})
        for each in step.rule.calls or ():
            if not each.op:
                raise GraphError(
                    f"{self.node.id}: masks cannot follow {node.op} ({node.id}). "
                    "Decode whole images, and crop after it."
                )
            args = {n: node.args[o] for n, o in each.args.items() if o in node.args}
            inputs = {n: node.inputs[o] for n, o in each.args.items() if o in node.inputs}
            if each.op == "flip" and not args and not inputs:
                continue
            inputs[catalog[each.op].inputs[0].name] = step.before
            yield replace(node, op=each.op, args=args, inputs=inputs, seed=None)

    def _call(self, step: GeometryStep, mask: str, call_: Node, dtype: str | None) -> None:
        """Write the call that applies one of the image's operators to a mask variable."""
        emitter = self.emitter
        spec = emitter.catalog[call_.op]
        source = Port(self.node.id, "moving")
        first = next(name for name, port in call_.inputs.items() if port == step.before)
        made = replace(call_, inputs={**call_.inputs, first: source}, device=None)
        after = Port(made.id, spec.outputs[0].name)
        names, moves = dict(emitter.names), emitter.transfers_of(made.id)
        emitter.names[source] = emitter.names[after] = mask
        emitter.set_transfers(made.id, {})
        dtype = _AS.get(dtype or "", dtype)
        if made.op == _OF_BYTES and dtype != "UINT8":
            self._as_bytes(mask, made, dtype)
        else:
            self.text += emitter.call_lines(made)
        emitter.names = names
        emitter.set_transfers(made.id, moves)

    def _as_bytes(self, mask: str, call_: Node, dtype: str | None) -> None:
        """Write a call that processes each float as four bytes, which preserves every bit."""
        before = self.name("before") if dtype is None else ""
        if before:
            self.add(before, mask)
        if dtype != "FLOAT":
            self.call(mask, "fn.cast", mask, "dtype=types.FLOAT")
        self.call(mask, "fn.reinterpret", mask, "dtype=types.UINT8", 'layout="HWC"')
        (fill,) = elements(call_.args["fill_value"])
        filled: dict[str, Value] = {
            "fill_value": tuple(struct.pack("<f", fill)),
            "n_channels": 4,
        }
        self.text += self.emitter.call_lines(call_.with_args(filled))
        self.call(mask, "fn.reinterpret", mask, "dtype=types.FLOAT", 'layout="HWC"')
        if before:
            self.call(mask, "fn.cast_like", mask, before)
        elif dtype != "FLOAT":
            self.call(mask, "fn.cast", mask, f"dtype=types.{dtype}")
