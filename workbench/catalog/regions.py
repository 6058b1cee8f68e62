"""Regions: nodes that own bodies of other nodes. Python statements, not operators of DALI.

Each is an ``OpSpec`` with ``bodies``. Its inputs are those that decide what runs; whatever else a
node of it takes in goes to the bodies by name, and its outputs are those of its bodies. How it is
written in code is a module of ``emit.regions``.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.catalog.spec import OpSpec, PortSpec

_UNLIMITED = 99

REGIONS: Mapping[str, OpSpec] = {
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
            category="region",
            label="If",
        ),
    )
}
