"""Blocks: nodes that own bodies of other nodes. Python statements, not operators of DALI.

Each is an ``OpSpec`` with ``bodies``. Its inputs are those that decide what runs; whatever else a
node of it takes in goes to the bodies by name, and its outputs are those of its bodies. How it is
written in code is a function of ``emit.blocks``, and all else about a kind is an object of
``graph.control_flow.kinds``.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.catalog.spec import ArgSpec, OpSpec, PortSpec

_UNLIMITED = 99
MOST_TURNS = 32
"""Of a body that is repeated: each is built as operators of its own."""

BLOCKS: Mapping[str, OpSpec] = {
    spec.name: spec
    for spec in (
        OpSpec(
            name="if",
            schema="",
            devices=("cpu", "gpu"),
            inputs=(PortSpec("condition", device="cpu"),),
            max_inputs=_UNLIMITED,
            bodies=("then", "else"),
            doc="For each sample one of two bodies, by a truth value.",
            summary="For each sample one of two bodies, by a truth value.",
            category="block",
            label="If",
            synonyms=(
                *("RandomApply", "Sometimes", "apply with p", "with probability", "condition"),
                *("put into an if", "region", "p", "for some samples", "branch"),
            ),
        ),
        OpSpec(
            name="one_of",
            schema="",
            devices=("cpu", "gpu"),
            inputs=(PortSpec("choice", device="cpu"),),
            max_inputs=_UNLIMITED,
            bodies=("option_0", "option_1"),
            numbered_bodies=True,
            doc="For each sample one of several bodies, by a number: the last one for all others.",
            summary="For each sample one of several bodies, by a number.",
            category="block",
            label="One of",
            synonyms=(
                *("OneOf", "RandomChoice", "random choice", "one of several", "weights"),
                *("switch", "elif", "region", "branch"),
            ),
        ),
        OpSpec(
            name="some_of",
            schema="",
            devices=("cpu", "gpu"),
            inputs=(PortSpec("choice", device="cpu"),),
            max_inputs=_UNLIMITED,
            args={
                "count": ArgSpec(
                    *("count", "int", "How many of the bodies run for each sample."),
                    required=True,
                    label="Count",
                    low=1,
                    high=8,
                    minimum=1,
                    start=1,
                    advanced=False,
                ),
                "shuffled": ArgSpec(
                    *("shuffled", "bool", "In an order drawn for each sample, not as numbered."),
                    default=False,
                    label="In any order",
                    start=False,
                    advanced=False,
                ),
            },
            bodies=("option_0", "option_1"),
            numbered_bodies=True,
            consecutive=True,
            doc="For each sample some of several bodies, one after another.",
            summary="For each sample some of several bodies, one after another.",
            category="block",
            label="Some of",
            synonyms=(
                *("SomeOf", "RandomOrder", "RandomChoices", "k of n", "subset", "shuffled order"),
                *("several of", "region", "branch"),
            ),
        ),
        OpSpec(
            name="repeat",
            schema="",
            devices=("cpu", "gpu"),
            max_inputs=_UNLIMITED,
            args={
                "times": ArgSpec(
                    *("times", "int", "How often the body runs; drawn, it is cut to the most."),
                    required=True,
                    tensor=True,
                    label="Times",
                    low=1,
                    high=5,
                    minimum=1,
                    maximum=MOST_TURNS,
                    start=2,
                    draw=(0, 3),
                    advanced=False,
                ),
                "most": ArgSpec(
                    *("most", "int", "How often at most, where it is drawn for each sample."),
                    default=3,
                    label="At most",
                    low=1,
                    high=5,
                    minimum=1,
                    maximum=MOST_TURNS,
                    advanced=False,
                ),
            },
            bodies=("body",),
            consecutive=True,
            doc="The body again and again, each time on what it gave before.",
            summary="The body again and again, each time on what it gave before.",
            category="block",
            label="Repeat",
            synonyms=("loop", "for", "n times", "again", "iterate", "region"),
        ),
    )
}
