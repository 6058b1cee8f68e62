"""Blocks that a person saved, each a file in the state folder, to be put into any graph.

$XDG_STATE_HOME/dali-workbench/blocks/<name>.json      see ``workbench.graph.snippets.blocks``
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError, GraphFormatError
from workbench.files import write_text
from workbench.graph.snippets.blocks import Block, dump_block, load_block, make_block
from workbench.ui.contract.actions import canvas
from workbench.ui.contract.views import TemplateEntry
from workbench.ui.state.view_state import ViewState
from workbench.ui.storage.autosave import state_folder

MOST = 200
"""Blocks that are listed."""
PREFIX = "block:"
"""Before a block's name where a template's may stand too."""


def saved_blocks() -> tuple[Block, ...]:
    """All blocks by name; without files that hold none."""
    blocks = []
    for path in sorted(_folder().glob("*.json"))[:MOST]:
        try:
            blocks.append(load_block(path.read_text(encoding="utf-8")))
        except (OSError, GraphFormatError, UnicodeDecodeError):
            continue
    return tuple(sorted(blocks, key=lambda block: block.name.casefold()))


def find_block(name: str) -> Block:
    """The block of a name. Raises GraphEditError where there is none."""
    blocks = {block.name: block for block in saved_blocks()}
    if name not in blocks:
        there = ", ".join(blocks) or "none"
        raise GraphEditError(f"There is no block {name[:60]!r}. There are: {there}.")
    return blocks[name]


def change_blocks(
    state: ViewState, catalog: Catalog, action: canvas.SaveBlock | canvas.RemoveBlock
) -> str:
    """Save or remove a block. Returns what to say; raises what these do."""
    if isinstance(action, canvas.SaveBlock):
        return save_block(state, catalog, action)
    return remove_block(state, action)


def save_block(state: ViewState, catalog: Catalog, action: canvas.SaveBlock) -> str:
    """Keep nodes of the graph as a block, in the place of one of its name. Returns what to say.

    Raises GraphEditError for nodes that are none, SaveError where the file cannot be written.
    """
    shown = state.checked.graph.at_scope(state.scope)
    block = make_block(shown, catalog, [n for n in action.nodes if shown.whole.has(n)], action.name)
    replaced = any(known.name == block.name for known in state.blocks)
    path = _file(block.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, dump_block(block))
    state.blocks = saved_blocks()
    done = "replaced" if replaced else "saved"
    return f"The block {block.name!r} is {done}: the palette and the search have it."


def remove_block(state: ViewState, action: canvas.RemoveBlock) -> str:
    """Remove a block's file. Raises GraphEditError where there is none of the name."""
    block = find_block(action.name)
    _file(block.name).unlink(missing_ok=True)
    state.blocks = saved_blocks()
    return f"The block {block.name!r} is removed."


def block_entries(blocks: Iterable[Block]) -> list[TemplateEntry]:
    """Every block, as templates are listed."""
    return [
        {
            "name": PREFIX + block.name,
            "label": block.name,
            "synonyms": ["my block", "saved block"],
            "summary": f"Saved by you: {_told(block)}.",
            "nodes": [node.op for node in block.part.walk()],
        }
        for block in blocks
    ]


def _told(block: Block) -> str:
    """Its operators and regions, those inside these too; draws only where there is nothing else."""
    ops = list(dict.fromkeys(node.op for node in block.part.walk()))
    return ", ".join([op for op in ops if not op.startswith("random.")] or ops)


def _folder() -> Path:
    return state_folder() / "blocks"


def _file(name: str) -> Path:
    return _folder() / f"{quote(name, safe=' ')}.json"
