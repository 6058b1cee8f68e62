"""Masks that follow an image, in emitted source: the calls of the image, to the nearest pixel.

Where the image is read between its pixels more than once, rounding each time would add up: the maps
of all operators become one, by which the mask goes once. What an operator cut off on the way, and
a later one would bring back, stays 0: a picture of ones goes with the image from the first cut on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from workbench.catalog.spec import Value
from workbench.emit.annotations.follower_writer import FollowerWriter
from workbench.emit.core.python import call
from workbench.errors import GraphError
from workbench.graph.annotations.geometry import GeometryStep
from workbench.graph.annotations.mixes import Mix
from workbench.graph.model import Node, Port

_AS: dict[str, str] = {
    "BOOL": "UINT8",
    "UINT16": "FLOAT",
    "UINT32": "FLOAT",
    "INT32": "FLOAT",
    "INT64": "FLOAT",
    "FLOAT16": "FLOAT",
}
"""What masks become where DALI's geometric operators do not take their element type: exact for
numbers up to 2^24, as large as those of panoptic segments are."""
_OPERATOR_TAKES = {"paste": "UINT8"}
"""The only element type that an operator takes: numbers of classes up to 255."""
_IDENTITY = "fn.transforms.translation(offset=[0.0, 0.0])"


class MaskWriter(FollowerWriter):
    """Masks, or the map by which they go in the end."""

    def follow(self) -> None:
        """One warp, or call by call."""
        if "map" in self.node.inputs or self.path.in_one_warp:
            self._warped()
        else:
            self.carried()

    def carried(self) -> None:
        """Call by call; or only the map, and the picture of what is not cut off."""
        if self.node.op != "carry_map":
            mask = self._variable()
            given, dtype = self._taken("moved" if "moved" in self.node.inputs else "masks")
            self.add(mask, given)
            self._walk(mask, self.path.steps, dtype, self.interpolation)
            self._given_back(mask, dtype)
            self._given_out(mask)
            return
        self._composed(self.given("map"))
        if self.node.args.get("cuts"):
            self._uncut(self.given("seen"))

    def _warped(self) -> None:
        mask, port = self._variable(), self.node.inputs["masks"]
        m = self.name("map")
        self._composed(m)
        given, dtype = self._taken("masks")
        width, height = self.size(self.node.inputs["image"])
        arguments = [
            given,
            f"matrix={m}",
            f"size=fn.stack({height}, {width})",
            "inverse_map=False",
            f"interp_type=types.{self.interpolation}",
            "fill_value=0",
        ]
        self.text += call(mask, "fn.warp_affine", arguments, self.emitter.indent)
        if "seen" in self.node.inputs or ("map" not in self.node.inputs and self.path.brings_back):
            seen = self.name("seen")
            self._uncut(seen)
            self.add(mask, f"{mask} * {seen}{'' if self.on_cpu(port) else '.gpu()'}")
        self._given_back(mask, dtype)
        self._given_out(mask)

    def _variable(self) -> str:
        """The mask's all along: that of what comes out, unless what else is read has this name."""
        given = self.given(self._output)
        others = [port for name, port in self.node.inputs.items() if name not in ("masks", "moved")]
        free = given not in [self.emitter.names[port] for port in others]
        return given if free else self.name("mask")

    @property
    def _output(self) -> str:
        return "masks" if self.node.op == "follow_masks" else "moved"

    def _given_out(self, mask: str) -> None:
        """What was assigned last is what it gives."""
        start = f"{self.emitter.indent}{mask} = "
        last = max(at for at, line in enumerate(self.text) if line.startswith(start))
        self.text[last] = self.text[last].replace(mask, self.given(self._output), 1)

    def _composed(self, m: str) -> None:
        """The map from where the mask lies to where the image is now."""
        known = "map" in self.node.inputs or self.node.op == "carry_map"
        if known:
            self.add(m, self.fed("map") if "map" in self.node.inputs else _IDENTITY)
        for step in self.path.steps:
            if not step.rule.map:
                continue
            if known:
                self.map_of(step, self.name("step"))
                self.add(m, f"fn.transforms.combine({m}, {self.name('step')})")
            else:
                self.map_of(step, m)
                known = True

    def _uncut(self, seen: str) -> None:
        """A picture of ones that goes with the image from the first cut on."""
        steps = self.path.steps
        if "seen" in self.node.inputs:
            self.add(seen, self.fed("seen"))
        else:
            first = next((at for at, step in enumerate(steps) if step.rule.cuts), len(steps) - 1)
            whole = steps[first].after if steps else self.node.inputs["image"]
            width, height = self.size(whole)
            shape = f"fn.cast(fn.stack({height}, {width}, 1.0), dtype=types.INT32)"
            self.add(seen, f"fn.ones(shape={shape}, dtype=types.UINT8)")
            self.add(seen, f'fn.reshape({seen}, layout="HWC")')
            steps = steps[first + 1 :]
        self._walk(seen, steps, "UINT8", "INTERP_NN")

    @property
    def interpolation(self) -> str:
        """How what lies between pixels is found."""
        linear = self.node.args.get("interpolation") == "linear"
        return "INTERP_LINEAR" if linear else "INTERP_NN"

    def _taken(self, name: str) -> tuple[str, str | None]:
        """A mask of an element type that operators take, and which it has been."""
        text, flow = self.fed(name), self.flows.get(self.node.inputs[name])
        dtype = flow.dtype if flow else None
        return (f"fn.cast({text}, dtype=types.{_AS[dtype]})" if dtype in _AS else text), dtype

    def _given_back(self, mask: str, dtype: str | None) -> None:
        if dtype in _AS:
            self.add(mask, f"fn.cast({mask}, dtype=types.{dtype})")

    def _walk(
        self, mask: str, steps: Sequence[GeometryStep], dtype: str | None, interpolation: str
    ) -> None:
        """The calls of the image for what is in a variable."""
        for step in steps:
            if step.mix and step.mix.window:
                self._mix(mask, step.mix, step.mix.window)
            for call_ in self._calls(step, interpolation):
                self._call(step, mask, call_, dtype)

    def _mix(self, mask: str, mix: Mix, window: tuple[Port, Port]) -> None:
        """A window of the other image's mask in the place of the own one's."""
        other, around = self.name("other"), self.name("around")
        self.permuted(other, mask, mix)
        start, extent = (self.emitter.names[port] for port in window)
        for target, given in ((around, other), (mask, mask)):
            arguments = [given, f"anchor={start}", f"shape={extent}", "normalized=True"]
            arguments += ['axis_names="HW"', "fill_value=0"]
            self.text += call(target, "fn.erase", arguments, self.emitter.indent)
        self.add(mask, f"{mask} + ({other} - {around})")

    def _calls(self, step: GeometryStep, interpolation: str) -> Iterator[Node]:
        """The image's call with the arguments of masks, or the calls in its place."""
        node, catalog = step.node, self.emitter.catalog
        if step.rule.calls is None:
            spec = catalog[node.op]
            args: dict[str, Value] = {**node.args}
            own = {n: v for n, v in step.rule.mask.items() if n in spec.args}
            args |= {n: v for n, v in own.items() if n not in node.inputs}
            if "interp_type" in own:
                args["interp_type"] = interpolation
            dropped = {n for n in own if args.get(n) == spec.args[n].default} | {"dtype"}
            yield replace(node, args={n: v for n, v in args.items() if n not in dropped})
        for each in step.rule.calls or ():
            if not each.op:
                raise GraphError(
                    f"{self.node.id}: masks cannot follow {node.op} ({node.id}). "
                    "Decode whole images, and crop after it."
                )
            if each.only and not {*node.args, *node.inputs} & {*each.only}:
                continue
            args = {n: node.args[o] for n, o in each.args.items() if o in node.args}
            inputs = {n: node.inputs[o] for n, o in each.args.items() if o in node.inputs}
            if each.op == "flip" and not args and not inputs:
                continue
            inputs[catalog[each.op].inputs[0].name] = step.before
            yield replace(node, op=each.op, args=args, inputs=inputs, seed=None)

    def _call(self, step: GeometryStep, mask: str, call_: Node, dtype: str | None) -> None:
        """One call of the image's node, with what is in a variable in the image's place."""
        emitter = self.emitter
        spec = emitter.catalog[call_.op]
        source = Port(self.node.id, "moving")
        first = next(name for name, port in call_.inputs.items() if port == step.before)
        made = replace(call_, inputs={**call_.inputs, first: source}, device=None)
        after = Port(made.id, spec.outputs[0].name)
        names, moves = dict(emitter.names), emitter.transfers_of(made.id)
        emitter.names[source] = emitter.names[after] = mask
        emitter.set_transfers(made.id, {})
        takes = _OPERATOR_TAKES.get(made.op)
        dtype = _AS.get(dtype or "", dtype)
        casts = takes is not None and dtype != takes
        if casts:
            self.add(mask, f"fn.cast({mask}, dtype=types.{takes})")
        self.text += emitter.call_lines(made)
        if casts and dtype:
            self.add(mask, f"fn.cast({mask}, dtype=types.{dtype})")
        emitter.names = names
        emitter.set_transfers(made.id, moves)
