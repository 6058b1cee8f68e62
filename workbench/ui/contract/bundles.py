"""The built ES modules of the components."""

from __future__ import annotations

from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.ui.contract.components import Component

STATIC = Path(__file__).parents[1] / "static"


def bundle_path(component: Component) -> Path:
    """The component's bundle. Raises WorkbenchError where the front end was not built."""
    path = STATIC / f"{component.name}.js"
    if not path.is_file():
        raise WorkbenchError(
            f"{path} is missing: the front end was not built. Install the package again "
            "(pip install -e .), or run `npm ci && npm run build` in workbench/ui/frontend."
        )
    return path
