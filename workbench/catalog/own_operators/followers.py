"""Operators of the workbench by which targets follow an image: boxes, points and masks.

None is an operator of DALI. A follower is told the image that its target is to lie on; which calls
of DALI it becomes follows from the operators that this image came through (``graph.geometry``),
by the rules of ``geometry.toml``.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.catalog.spec import ArgSpec, OpSpec, OutputRule, PortKind, PortSpec

UNITS = ("relative", "absolute")
"""As shares of the image's sides, or in pixels."""
BOX_FORMATS = tuple(f"{unit} {corners}" for unit in UNITS for corners in ("xywh", "ltrb", "cxcywh"))
"""Left, top and width, height; left, top, right, bottom; or the centre and width, height."""
_UNLIMITED = 999
_IMAGE = PortSpec("image", "image", device="any")
_BEFORE = PortSpec("before", "image", optional=True, device="any")
"""The image that a target lies on, where that is not the one that was decoded whole."""
_DROPPED = ArgSpec(
    *("visible", "float", "Boxes of which no larger share can be seen are left out."),
    default=0.25,
    label="Visible share",
    low=0,
    high=1,
    step=0.05,
    minimum=0,
    maximum=1,
    start=0.25,
    advanced=False,
)
_FORMAT = ArgSpec(
    *("format", "str", "How the boxes are written, where their source does not tell."),
    label="Format",
    choices=BOX_FORMATS,
)

_PLACES = ArgSpec(
    *("places", "bool", "Which of the boxes that came are left, by number: to match polygons."),
    default=False,
    label="Give which are left",
)
_UNIT = ArgSpec(
    *("unit", "str", "What the points are measured in, where their source does not tell: pixels."),
    label="Unit",
    choices=UNITS,
)
_CLASSES = ArgSpec(
    *("num_classes", "int", "How many there are. Of a label beyond these nothing is left."),
    default=1000,
    label="Classes",
    low=1,
    high=1000,
    step=1,
    minimum=1,
    start=1000,
    advanced=False,
)
_INTERPOLATION = ArgSpec(
    *("interpolation", "str", "Nearest for classes and ids, linear for depth and heat."),
    default="nearest",
    choices=("nearest", "linear"),
    label="Interpolation",
    advanced=False,
)


def _follower(
    kind: PortKind,
    inputs: tuple[PortSpec, ...],
    outputs: tuple[PortSpec, ...],
    args: Mapping[str, ArgSpec],
    summary: str,
) -> OpSpec:
    plural = {"mask": "masks", "label": "labels"}.get(kind, kind)
    return OpSpec(
        name=f"follow_{plural}",
        schema="",
        devices=("cpu", "gpu") if kind == "mask" else ("cpu",),
        inputs=(*inputs, _BEFORE),
        max_inputs=_UNLIMITED,
        outputs=outputs,
        args=args,
        doc=summary,
        summary=summary,
        category="format" if kind == "label" else plural,
        label=f"{plural.capitalize()} follow the image",
        synonyms=("targets", "annotations", "geometry", f"transform {plural}"),
        stays=kind != "mask",
        follows=kind,
    )


FOLLOWERS: Mapping[str, OpSpec] = {
    spec.name: spec
    for spec in (
        _follower(
            "boxes",
            (
                PortSpec("boxes", "boxes"),
                _IMAGE,
                PortSpec("labels", "label", optional=True),
                PortSpec("polygons", "number", optional=True),
            ),
            (
                PortSpec("boxes", "boxes", gives=OutputRule("FLOAT", "", (None, 4))),
                PortSpec("labels", "label", needs="labels", gives=OutputRule("INT32", "", (None,))),
                PortSpec(
                    *("polygons", "number"),
                    needs="polygons",
                    gives=OutputRule("INT32", "", (None, 3)),
                ),
                PortSpec("places", "label", needs="places", gives=OutputRule("INT32", "", (None,))),
            ),
            {"visible": _DROPPED, "format": _FORMAT, "places": _PLACES},
            "Boxes, and their labels, follow what was done to the image; they are cut at its edge. "
            "Polygons count the boxes anew; -1 is one that was left out.",
        ),
        _follower(
            "points",
            (PortSpec("points", "points"), _IMAGE),
            (
                PortSpec("points", "points", gives=OutputRule("FLOAT", "", (None, 2))),
                PortSpec("visible", "label", gives=OutputRule("BOOL", "", (None,))),
            ),
            {"unit": _UNIT},
            "Points (x, y) follow what was done to the image; visible says which are still in it.",
        ),
        _follower(
            "mask",
            (PortSpec("masks", "mask"), _IMAGE),
            (PortSpec("masks", "mask", gives=OutputRule("input", "HWC", (None, None, 1))),),
            {"interpolation": _INTERPOLATION},
            "Masks follow what was done to the image: classes to the nearest pixel, depth and heat "
            "between them.",
        ),
        _follower(
            "label",
            (PortSpec("labels", "label"), _IMAGE),
            (PortSpec("labels", "label", gives=OutputRule("FLOAT", "", ("classes",))),),
            {"num_classes": _CLASSES},
            "Classes of images follow where images are mixed: shares of the classes, (classes,).",
        ),
    )
}
"""By name."""


def _carrier(
    name: str,
    kind: PortKind,
    state: tuple[PortSpec, ...],
    start: tuple[PortSpec, ...] = (),
    args: Mapping[str, ArgSpec] | None = None,
) -> OpSpec:
    doc = "Brings what becomes of a target to, or through, the body of a block."
    again = tuple(PortSpec(port.name, port.kind, optional=True) for port in state)
    carried = (*(port.name for port in start), state[0].name)
    return OpSpec(
        name=name,
        schema="",
        devices=("cpu", "gpu") if name == "carry_masks" else ("cpu",),
        inputs=(*start, *again, _IMAGE, PortSpec("before", "any", optional=True, device="any")),
        max_inputs=_UNLIMITED,
        outputs=state,
        args=args or {},
        doc=doc,
        summary=doc,
        stays=name != "carry_masks",
        follows=kind,
        one_of=() if name == "carry_map" else (carried,),
        unusable=None,
    )


CARRIERS: Mapping[str, OpSpec] = {
    spec.name: spec
    for spec in (
        _carrier(
            "carry_boxes",
            "boxes",
            (PortSpec("corners", gives=OutputRule("FLOAT", "", (None, 4, 2))),),
            (PortSpec("boxes", "boxes", optional=True),),
            {"format": _FORMAT},
        ),
        _carrier(
            "carry_points",
            "points",
            (
                PortSpec("at", gives=OutputRule("FLOAT", "", (None, 2))),
                PortSpec("seen", gives=OutputRule("BOOL", "", (None,))),
            ),
            (PortSpec("points", "points", optional=True),),
            {"unit": _UNIT},
        ),
        _carrier(
            "carry_masks",
            "mask",
            (PortSpec("moved", "mask", gives=OutputRule("input", "HWC", (None, None, 1))),),
            args={"interpolation": _INTERPOLATION},
        ),
        _carrier(
            "carry_map",
            "mask",
            (
                PortSpec("map", gives=OutputRule("FLOAT", "**", (2, 3))),
                PortSpec("seen", needs="cuts", gives=OutputRule("UINT8", "HWC", (None, None, 1))),
            ),
            args={"cuts": ArgSpec("cuts", "bool", "Whether parts of the image are cut off.")},
        ),
    )
}
"""What followers become where their image comes through blocks: no person places these."""
