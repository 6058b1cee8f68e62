"""The notebooks' saved outputs: ``python -m tests.notebook_outputs notebooks/01*`` renews them.

It runs them in a kernel and saves what a reader needs of that: no widgets, which are dead in a
file, no progress bars or warnings, no metadata of this machine.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "notebooks"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
COLLAPSED = "jp-MarkdownHeadingCollapsed"
"""A section stays collapsed if its cells run; a collapsed output would open."""
_WIDGET = "application/vnd.jupyter.widget-view+json"
_EMPTY_SNAPSHOT = '<div class="wb-static-snapshot"></div>'


def read(path: Path) -> Any:
    """The notebook of a file."""
    import nbformat  # 2 s, which pytest is spared when it collects tests

    return nbformat.read(path, 4)


def _is_kept(output: Any) -> bool:
    if output.get("name") == "stderr":
        return False
    data = output.get("data", {})
    return _WIDGET not in data and data.get("text/html") != _EMPTY_SNAPSHOT


def tidy(notebook: Any) -> Any:
    """The notebook without what another run, or another machine, has otherwise."""
    import nbformat

    tidied = nbformat.from_dict({**notebook, "metadata": METADATA})
    count = 0
    for number, cell in enumerate(tidied.cells):
        cell.id, cell.metadata = f"cell-{number:02}", _hidden(cell)
        if cell.cell_type != "code":
            continue
        count += 1
        cell.execution_count = count
        cell.outputs = [output for output in cell.outputs if _is_kept(output)]
        for output in cell.outputs:
            if "metadata" in output:
                output.metadata = {}
            if "execution_count" in output:
                output.execution_count = count
    return tidied


def _hidden(cell: Any) -> dict[str, Any]:
    """The collapsed parts: the source of a cell, or the section below a title."""
    return {name: cell.metadata[name] for name in ("jupyter", COLLAPSED) if cell.metadata.get(name)}


def renew(path: Path) -> None:
    """Run a notebook next to its data, and save it with its outputs."""
    import nbformat
    from nbclient import NotebookClient

    notebook = read(path)
    client = NotebookClient(
        notebook,
        timeout=300,
        store_widget_state=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    nbformat.write(tidy(notebook), path)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    for given in sys.argv[1:] or sorted(map(str, FOLDER.glob("*.ipynb"))):
        renew(Path(given))
