"""The titles of frames as comments in exported code, above the first line of what they frame."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from workbench.emit.core.code import Code
from workbench.emit.targets import Export
from workbench.graph.storage.layout import Frame


def with_frame_comments(export: Export, frames: Iterable[Frame]) -> Export:
    """The export with a comment for each frame, in Python files with lines of its nodes."""
    frames = list(frames)
    if not frames:
        return export
    files = {
        path: _commented(code, frames) if path.endswith(".py") else code
        for path, code in export.files.items()
    }
    return replace(export, files=files)


def _titles(frames: Iterable[Frame]) -> list[str]:
    """The outermost first; of frames around the same lines, as of two views, in one."""
    made: list[tuple[Frame, str]] = []
    for frame in sorted(frames, key=lambda frame: -len(frame.nodes)):
        title = " ".join(frame.title.split())
        if made and not {*made[-1][0].nodes} & {*frame.nodes}:
            title = f"{made.pop()[1]}, {title}"
        made.append((frame, title))
    return [title for _, title in made]


def _commented(code: Code, frames: Iterable[Frame]) -> Code:
    text = code.text.split("\n")
    titles: dict[int, list[Frame]] = {}
    for frame in frames:
        starts = [code.lines[node].start for node in frame.nodes if code.lines.get(node)]
        if starts:
            titles.setdefault(min(starts), []).append(frame)
    made: list[str] = []
    moved: dict[int, int] = {}
    for number, line in enumerate(text, 1):
        indent = line[: len(line) - len(line.lstrip())]
        made += [f"{indent}# {title}" for title in _titles(titles.get(number, ()))]
        made.append(line)
        moved[number] = len(made)
    lines = {
        node: range(moved[at.start], moved[at.stop - 1] + 1) if at else at
        for node, at in code.lines.items()
    }
    return Code("\n".join(made), lines)
