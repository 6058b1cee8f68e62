"""Read the operators that call user code: ``user_functions.toml`` and ``python_source.toml``."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.catalog.extra_operators.rows import read_operators

MOST_OUTPUTS = 16
"""Maximum number of arrays that a user function may return, as in ``user_functions.toml``."""
PYTHON_SOURCE = read_operators("python_source.toml")["python_source"]
OWN_CODE = {**read_operators("user_functions.toml"), PYTHON_SOURCE.name: PYTHON_SOURCE}
PYTHON_FUNCTION = OWN_CODE["python_function"]
TORCH_FUNCTION = OWN_CODE["torch_python_function"]
NUMBA_FUNCTION = OWN_CODE["numba_function"]
NUMBER_TYPES = NUMBA_FUNCTION.args["in_types"].members
"""Element types of the arrays that DALI can pass to numba functions."""
PLUGINS: Mapping[str, str] = {
    TORCH_FUNCTION.name: "nvidia.dali.plugin.pytorch.fn",
    NUMBA_FUNCTION.name: "nvidia.dali.plugin.numba.fn",
}
"""Module of each operator that is not in ``nvidia.dali.fn``."""
