"""Find DALI's names for operators and arguments that other libraries name differently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache

from workbench.catalog.tables import read_tables
from workbench.names import did_you_mean


@cache
def _name_tables() -> Mapping[str, Mapping[str, str | tuple[str, ...]]]:
    """Return the tables of ``familiar_names.toml``, which map other libraries' names to DALI's."""
    return read_tables("familiar_names.toml")


def nearest_operators(name: str, known: Iterable[str], count: int = 1) -> list[str]:
    """Return the operators in ``known`` that an unknown name may mean, best match first.

    Names in torchvision and Albumentations take precedence over similar spelling.
    """
    public = [each for each in known if not each.startswith("_")]
    plain = name.replace("_", "").lower()
    same = [each for each in public if each.replace("_", "") == plain]
    tables = _name_tables()
    familiar = str(tables["operators"].get(plain) or tables["methods"].get(plain, ""))
    other = [familiar] if familiar.partition(".")[0] in public else []
    # Capitals belong to another library, whose Normalize is not DALI's normalize.
    found = same + other if name == name.lower() else other + same
    found = [*dict.fromkeys(found)]
    return found[:count] or get_close_matches(name, public, n=count, cutoff=0.7)


def nearest_arguments(name: str, known: Iterable[str]) -> list[str]:
    """Return the argument in ``known`` that an unknown name may mean, as a list of at most one."""
    names = list(known)
    familiar = _name_tables()["arguments"].get(name, ())
    meant = (familiar,) if isinstance(familiar, str) else familiar
    return [each for each in meant if each in names][:1] or get_close_matches(name, names, n=1)


def value_hint(value: str, known: Iterable[str]) -> str:
    """Suggest a known value for an unknown one, such as ``INTERP_CUBIC`` for ``bicubic``."""
    names = list(known)
    familiar = _name_tables()["values"].get(value.lower(), ())
    meant = (familiar,) if isinstance(familiar, str) else familiar
    found = next((each for each in meant if each in names), "")
    return f"Did you mean {found}?" if found else did_you_mean(value, names)
