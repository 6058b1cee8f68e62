"""Describe the operators of the installed DALI, from its schemas and a curated overlay."""

from __future__ import annotations

from functools import cache

from workbench.catalog.extra_operators import STRUCTURE
from workbench.catalog.extra_operators.arithmetic import arithmetic_specs
from workbench.catalog.extra_operators.auto_augment import AUTO_AUGMENT
from workbench.catalog.extra_operators.python_decoder import PILLOW_DECODER
from workbench.catalog.extra_operators.readers import (
    FIELD_READER,
    PYTHON_READER,
    REQUESTS,
    SAMPLED_READERS,
    field_reader,
    python_reader,
    reader_arguments,
    with_sampler_arguments,
)
from workbench.catalog.extra_operators.user_functions import OWN_CODE
from workbench.catalog.overlay import apply_overlay, read_overlay
from workbench.catalog.schema import read_schemas
from workbench.catalog.spec import ArgSpec, Catalog, Device, OpSpec, PortSpec, Value

__all__ = [
    "ArgSpec",
    "Catalog",
    "Device",
    "OpSpec",
    "PortSpec",
    "Value",
    "load_catalog",
]


@cache
def load_catalog() -> Catalog:
    """Return the catalogue of the installed DALI. The first call imports DALI (about a second).

    Raises CatalogError if DALI cannot be imported or the overlay does not match it.

    ::

        assert "noise.gaussian" in wb.load_catalog()
    """
    ops, version = read_schemas()
    described = apply_overlay(ops, read_overlay(), strict=False)
    listed = {name: op for name, op in described.items() if name not in OWN_CODE}
    listed |= REQUESTS
    listed[PILLOW_DECODER.name] = PILLOW_DECODER
    if "readers.file" in listed:
        listed[PYTHON_READER] = python_reader(listed["readers.file"])
        listed[FIELD_READER] = field_reader(listed[PYTHON_READER])
    listed |= reader_arguments(listed)
    for name in SAMPLED_READERS & listed.keys():
        listed[name] = with_sampler_arguments(listed[name])
    return Catalog({**listed, **arithmetic_specs(), **AUTO_AUGMENT}, version, STRUCTURE)
