"""What functions of the user need and is not installed, in words."""

from __future__ import annotations

_INSTALL = {
    "cupy": "pip install cupy-cuda12x",
    "torch": "pip install torch",
    "numba": "pip install numba",
}


def missing_package_words(error: BaseException) -> str | None:
    """Which package is missing and how to get it; None where the error says nothing of that."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return None
    package = error.name.partition(".")[0]
    how = _INSTALL.get(package, f"pip install {package}")
    return f"it needs {package}, which is not installed. Install it ({how}), or mute the node."
