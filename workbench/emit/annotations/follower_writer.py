"""Define the base class of the writers of boxes, points and masks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter
from typing import TYPE_CHECKING

from workbench.catalog.geometry import GeometryRule
from workbench.emit.annotations.copied_functions import parameters_of
from workbench.emit.core.naming import RESERVED
from workbench.emit.core.python import INDENT, LINE, assigned, call, literal
from workbench.errors import GraphError
from workbench.graph.annotations.follower_dependencies import CARRIED_INPUTS
from workbench.graph.annotations.followers import path_of
from workbench.graph.annotations.geometry import (
    GeometryPath,
    GeometryStep,
    flips_of,
    may_be_cropped,
    value_of,
)
from workbench.graph.annotations.mixes import Mix
from workbench.graph.model import Node, Port
from workbench.graph.model.values import elements
from workbench.graph.types.devices import device_of
from workbench.names import join_words

if TYPE_CHECKING:
    from workbench.emit.emitter import Emitter

_MIRRORS = ("horizontal", "vertical", "mirror")
"""Parameters of the functions ``*_matrix`` that mirror the image if they are not 0."""
_WINDOW = ("random_area", "random_aspect_ratio", "num_attempts")


class FollowerWriter:
    """Writes the code of a follower, a node that transforms annotations with an image."""

    def __init__(self, emitter: Emitter, node: Node) -> None:
        self.emitter = emitter
        self.node = node
        self.graph = emitter.graph
        path = path_of(emitter.resolved, node)
        if path is None or path.blocked:
            raise GraphError(
                f"{node.id}: {path.reason if path else 'no image is connected to it'}."
            )
        self.path = path
        in_shares = self.relative and not CARRIED_INPUTS & {*node.inputs}
        self.tail = () if node.args.get("tight") else _last_relative_steps(path, in_shares)
        """Trailing steps of the path that only mirror relative positions or leave them unchanged.
        """
        self.head = path.steps[: len(path.steps) - len(self.tail)]
        self.middle = self.head[-1].after if self.head else path.root
        """Port of the image between ``head`` and ``tail``."""
        resizes = any(step.rule.map and not step.rule.flips for step in self.tail)
        self.last = path.frame if resizes else self.middle
        """Port of the first image that has the size of the final image."""
        self.flows = emitter.resolved.types
        self.text: list[str] = []
        self.comment = ""
        """Comment to write above the code. If it is empty, a comment lists the operators."""
        self._stem = node.id
        while any(name.startswith(f"{self._stem}_") for name in emitter.names.values()):
            self._stem += "_"

    @property
    def relative(self) -> bool:
        """True if input and output positions are relative to the image size."""
        return False

    @property
    def moving_operators_text(self) -> str:
        """Text that lists the operators that move the image: `` through rotate and crop``."""
        moves: list[str] = []
        for step in self.path.steps:
            node, rule = step.node, step.rule
            if node.op != "crop_mirror_normalize":
                moves.append(node.op)
                continue
            mirrors = "mirror" in node.inputs or bool(node.args.get("mirror"))
            moves += ["crop"] * rule.cuts + ["mirror"] * mirrors
        return f" through {join_words(moves)}" if moves else ""

    def follow(self) -> None:
        """Write the code that computes the transformed annotations."""
        raise NotImplementedError

    def write_carried(self) -> None:
        """Write the code for values that are passed into a block, or out of a body."""
        raise NotImplementedError

    def name(self, word: str) -> str:
        """Return a variable name: ``word``, with a prefix that makes it unique if necessary."""
        used = {*self.emitter.names.values(), *self.emitter.taken, *RESERVED}
        return f"{self._stem}_{word}" if self.emitter.scope or word in used else word

    def variable(self, output: str, input_name: str) -> str:
        """Return the variable for an output that is computed from the input ``input_name``.

        This is the output's own variable, unless another input is stored in it.
        """
        given = self.output_variable(output)
        others = {
            self.emitter.names[p] for name, p in self.node.inputs.items() if name != input_name
        }
        return self.name(output) if given in others else given

    def add(self, target: str, value: str) -> None:
        """Write ``target = value``, unless the two are the same expression."""
        if target != value:
            self.text += assigned(target, [value], self.emitter.indent)

    def call(self, target: str, function: str, *arguments: str) -> None:
        """Write ``target = function(arguments)``, on as many lines as needed."""
        self.text += call(target, function, arguments, self.emitter.indent)

    def helper(self, name: str) -> str:
        """Add a function of ``helpers.py`` to the program, and return its name."""
        self.emitter.helpers.add(name)
        return name

    def applied(self, helper: str, *arguments: str) -> str:
        """Return an expression that calls a function of ``helpers.py``."""
        return f"{self.helper(helper)}({', '.join(arguments)})"

    @property
    def clipped_before(self) -> set[int]:
        """Indices of steps before which annotations are clipped.

        These are the steps that could reveal a region that an earlier step cropped.
        """
        begins = self.node.inputs.get("before")
        lost = begins is not None and may_be_cropped(self.emitter.resolved, begins)
        found = set()
        for at, step in enumerate(self.path.steps):
            if lost and (step.rule.reveals or step.mix):
                found.add(at)
                lost = False
            lost |= step.rule.cuts
        return found

    def transform(
        self,
        steps: Sequence[GeometryStep],
        positions: str,
        kind: str,
        cut: Callable[[Port], None],
        cover: Callable[[GeometryStep], None],
        mix: Callable[[GeometryStep, Mix], None] | None = None,
    ) -> None:
        """Write the code that transforms positions by ``steps``, the first steps of the path.

        ``positions`` is the variable of the positions, and ``kind`` is ``corners`` or ``points``.
        ``cut`` is called with the image port before each step in ``clipped_before``, ``cover`` for
        each step that covers pixels, and ``mix`` for each step that mixes two images.
        """
        pending: list[GeometryStep] = []
        clipped = self.clipped_before
        for at, step in enumerate(steps):
            if at in clipped or step.mix or step.rule.homography or step.rule.covers:
                self._move(positions, kind, pending)
            if at in clipped:
                cut(step.before)
            if step.mix and mix:
                mix(step, step.mix)
            if step.rule.covers:
                cover(step)
            if step.rule.homography:
                function = self.helper(f"{kind}_after_perspective")
                self.call(positions, function, positions, self._text(*self._matrix(step)))
            elif step.rule.map:
                pending.append(step)
        self._move(positions, kind, pending)

    def _move(self, positions: str, kind: str, steps: list[GeometryStep]) -> None:
        if not steps:
            return
        matrix = self.matrix(steps)
        if kind == "points":
            moved = f"fn.coord_transform({positions}, MT={matrix})"
            self.call(positions, "fn.reshape", moved, "shape=[-1, 2]")
        else:
            self.call(positions, self.helper("corners_after_affine"), positions, matrix)
        steps.clear()

    def matrix(self, steps: Sequence[GeometryStep], before: str = "", target: str = "") -> str:
        """Return the variable of the steps' combined affine matrix, applied after ``before``.

        If ``target`` is empty, an existing variable of the matrix is reused.
        """
        found = [self._matrix(step) for step in steps]
        if before:
            found.insert(0, (before, []))
        if len(found) == 1:
            function, arguments = found[0]
            if arguments:
                target = target or self.name("matrix")
                self.call(target, function, *arguments)
            elif target:
                self.add(target, function)
            return target or function
        target = target or self.name("matrix")
        texts = [self._text(*each) for each in found]
        for at, text in enumerate(texts):
            if len(self.emitter.indent + INDENT + text) >= LINE:
                texts[at] = self.name(f"matrix_{at}")
                self.call(texts[at], found[at][0], *found[at][1])
        self.call(target, "fn.transforms.combine", *texts)
        return target

    def _text(self, function: str, arguments: Sequence[str]) -> str:
        return f"{function}({', '.join(arguments)})" if arguments else function

    def _matrix(self, step: GeometryStep) -> tuple[str, list[str]]:
        """Return the function that computes a step's matrix, and its arguments.

        If a variable contains the matrix already, return the variable and no arguments.
        """
        node, rule = step.node, step.rule
        if rule.map in rule.linked:
            return self._matrix_argument(node, rule.map, rule), []
        arguments = []
        for name, parameter in parameters_of(self.helper(rule.map)).items():
            argument = (rule.flips or {}).get(name, name)
            if name == "before":
                text = self.size(step.before, encoded=step.decodes)
            elif name == "after":
                text = self.size(step.after)
            elif name == "window":
                text = self._window(step)
            elif argument in rule.linked:
                text = self._matrix_argument(node, argument, rule)
            else:
                text = self.argument_text(argument, node)
            if parameter.default is Parameter.empty:
                arguments.append(text)
            elif argument in node.inputs or argument in node.args:
                arguments.append(f"{name}={text}")
        return rule.map, arguments or [""]

    def _window(self, step: GeometryStep) -> str:
        node = step.node
        image = self.emitter.names[step.before]
        limits = [
            f"{name}={self.argument_text(name, node)}"
            for name in _WINDOW
            if name in node.args or name in node.inputs
        ]
        shape = f"fn.peek_image_shape({image})" if step.decodes else f"{image}.shape()"
        window = self.name(f"{node.id}_window")
        random = self.emitter.randomness(node)
        self.call(window, "fn.random_crop_generator", shape, *limits, *random)
        return window

    def _matrix_argument(self, node: Node, name: str, rule: GeometryRule) -> str:
        linked = node.inputs.get(rule.linked[name])
        if linked is not None:
            return self.emitter.names[linked]
        if name in node.inputs:
            return self.argument_text(name, node)
        rows = 3 if rule.homography else 2
        numbers = value_of(node, self.emitter.catalog[node.op], name)
        floats = [float(each) for each in numbers if isinstance(each, int | float)]  # type: ignore[union-attr]
        return f"types.Constant({floats}, shape=[{rows}, 3])"

    def erased_regions(self, step: GeometryStep) -> str:
        """Write the code of the regions that an ``erase`` covers, and return their variable."""
        node, spec = step.node, self.emitter.catalog[step.node.op]
        regions = self.name("regions")
        given = [self.tensor_text(name, node) for name in ("anchor", "shape")]
        if (axes := value_of(node, spec, "axis_names")) != "HW":
            given.append(f"axis_names={axes!r}")
        for name in ("normalized_anchor", "normalized_shape", "centered_anchor"):
            whole = "normalized" if name.startswith("normalized") else name
            if value_of(node, spec, name) or value_of(node, spec, whole):
                given.append(f"{name}=True")
        self.call(regions, self.helper("erased_regions"), self.size(step.before), *given)
        return regions

    def tensor_text(self, name: str, node: Node) -> str:
        """Return the expression of a numeric argument as a tensor of floats."""
        if name in node.inputs:
            return self.emitter.names[node.inputs[name]]
        value = value_of(node, self.emitter.catalog[node.op], name)
        return f"types.Constant({[float(each) for each in elements(value)]})"  # type: ignore[arg-type]

    def mirrored(self, steps: Sequence[GeometryStep]) -> str:
        """Write the code that determines which images ``steps`` mirror, and return its variable.

        Returns "" if no image is mirrored, and "True" if all are.
        """
        terms, always = [], False
        for step in steps:
            rule, node = step.rule, step.node
            for name in parameters_of(rule.map) if rule.map and rule.map not in rule.linked else ():
                argument = (rule.flips or {}).get(name, name)
                if name in _MIRRORS and argument in node.inputs:
                    terms.append(f"({self.argument_text(argument, node)} != 0)")
                elif name in _MIRRORS and argument in self.emitter.catalog[node.op].args:
                    always ^= bool(value_of(node, self.emitter.catalog[node.op], argument))
            always ^= rule.map == "transpose_matrix"
            if rule.linked:
                matrix = self._matrix_argument(node, next(iter(rule.linked)), rule)
                about = step.before if rule.map in rule.linked else step.after
                size = [self.size(about)] if rule.homography else []
                name = "reflects_perspective" if rule.homography else "reflects"
                terms.append(f"({self.applied(name, matrix, *size)})")
        if not terms:
            return str(always) * always
        name = self.name("mirrored")
        for at, term in enumerate([*terms, *["True"] * always]):
            self.add(name, f"{name} ^ {term}" if at else term.removeprefix("(").removesuffix(")"))
        return name

    def mirror(
        self,
        target: str,
        text: str,
        function: str,
        parameters: Mapping[str, str],
        *arguments: str,
        centre: Sequence[float] = (),
    ) -> str:
        """Write the code that mirrors positions as ``tail`` does, and return their expression.

        Positions are relative or, if ``centre`` is given, in pixels. ``parameters`` maps directions
        to parameter names of ``function``.
        """
        for step in self.tail:
            if step.rule.flips:
                self.call(
                    target, function, text, *arguments, *self._mirrors(step, centre, parameters)
                )
                text = target
        return text

    def _mirrors(
        self, step: GeometryStep, centre: Sequence[float], parameters: Mapping[str, str]
    ) -> list[str]:
        """Return the arguments of the mirroring function for one step that mirrors the whole image.

        ``parameters`` maps directions to argument names.
        """
        flips = flips_of(step.node, self.emitter.catalog[step.node.op], step.rule)
        ways = [way for way in parameters if way in flips or way == "horizontal"]
        texts = [
            f"{parameters[way]}={self.argument_text(flips[way], step.node) if way in flips else 0}"
            for way in ways
        ]
        about = dict(zip(("horizontal", "vertical"), centre, strict=False))
        axes = {"horizontal": "x", "vertical": "y"}
        return texts + [f"center_{axes[way]}={about[way]}" for way in ways if way in about]

    def argument_text(self, name: str, node: Node) -> str:
        """Return the expression of an argument: its variable, its value or DALI's default."""
        if name in node.inputs:
            return self.emitter.names[node.inputs[name]]
        spec = self.emitter.catalog[node.op]
        value = value_of(node, spec, name)
        return literal(value, spec.args.get(name)) if value is not None else "None"

    def fixed_size(self, port: Port) -> tuple[float, ...]:
        """Return (width, height) if all images at a port have the same size, else ()."""
        flow = self.flows.get(port)
        sides = dict(zip(flow.axes or "", flow.shape or (), strict=False)) if flow else {}
        found = sides.get("W"), sides.get("H")
        return tuple(float(side) for side in found if side) if all(found) else ()

    def size(self, port: Port, encoded: bool = False) -> str:
        if encoded:
            return self.applied("encoded_size", self.emitter.names[port])
        fixed = self.fixed_size(port)
        return f"types.Constant({[*fixed]})" if fixed else self.sized("size_of", port)

    def factors(self, helper: str, port: Port) -> str:
        """Return the expression of the factors that scale relative positions to pixels.

        This is a number if all images are square and of one size, otherwise a call of ``helper``.
        """
        fixed = self.fixed_size(port)
        return str(fixed[0]) if len({*fixed}) == 1 else self.sized(helper, port)

    def sized(self, helper: str, port: Port) -> str:
        """Return a call of ``helper`` with an image and, unless it is ``HWC``, its layout."""
        flow = self.flows.get(port)
        axes = (flow.axes if flow else None) or "HWC"
        return self.applied(helper, self.emitter.names[port], *[f'"{axes}"'] * (axes != "HWC"))

    def first_size(self) -> str:
        """Return the expression of the annotated image's size.

        For a decoder that crops, this is the size of the encoded image.
        """
        return self.size(self.path.start, encoded=self.path.start != self.path.root)

    @property
    def changes_scale(self) -> bool:
        """True if a step in ``tail`` changes positions in pixels, such as a resize."""
        return any(step.rule.map for step in self.tail)

    def fed(self, name: str) -> str:
        """Return the expression of an input, copied to the CPU if the node runs there."""
        port = self.node.inputs[name]
        moves = self.emitter.catalog[self.node.op].stays and not self.on_cpu(port)
        return self.emitter.names[port] + (".cpu()" if moves else "")

    def on_cpu(self, port: Port) -> bool:
        """Return True if a port's data is on the CPU."""
        return device_of(self.emitter.devices, port) == "cpu"

    def output_variable(self, output: str) -> str:
        return self.emitter.names[Port(self.node.id, output)]


def _last_relative_steps(path: GeometryPath, relative: bool) -> tuple[GeometryStep, ...]:
    """Return the trailing steps that only mirror relative positions or leave them unchanged.

    Steps that round the image size are included only if all positions are ``relative``.
    """
    for at in range(len(path.steps)):
        tail = path.steps[at:]
        rounds = any(step.rule.rounds for step in tail)
        if replace(path, steps=tail).keeps_relative_positions and not (
            rounds and (at or not relative)
        ):
            return tail
    return ()
