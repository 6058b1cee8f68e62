"""Numbers of DALI's enumerations become the names that the catalogue offers."""

from __future__ import annotations

from workbench.catalog import Catalog
from workbench.catalog.enums import enum_names


def test_names_by_number() -> None:
    from nvidia.dali import types

    names = enum_names("DALIDataType")
    assert names[int(types.UINT8)] == "UINT8"
    assert names[int(types.FLOAT)] == "FLOAT"
    assert enum_names("DALIInterpType")[int(types.INTERP_LINEAR)] == "INTERP_LINEAR"


def test_every_member_that_an_argument_may_have(catalog: Catalog) -> None:
    for spec in catalog.values():
        for arg in spec.args.values():
            if arg.enum is not None:
                assert set(arg.members) <= set(enum_names(arg.enum).values()), arg.name
