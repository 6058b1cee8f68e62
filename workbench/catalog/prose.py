"""DALI's reStructuredText documentation as plain text for a tooltip."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from textwrap import dedent, indent

_TABLE_BLOCK = re.compile(r"^( *)\.\. list-table::.*(?:\n(?: *|\1 +.*)$)*", re.MULTILINE)
_DIRECTIVE = re.compile(r"^(\s*)\.\. ([\w-]+)::[ \t]*(.*)$")
_KEPT = {"note": "Note: ", "warning": "Warning: ", "important": "Important: ", "math": ""}
_ITEM = re.compile(r"^\s*([-*•]|#\.|\d+\.)\s+")
_ROW = re.compile(r"^\s*(?:\+[-=+]+\+|\|.*\||=+(?: +=+)+)\s*$")
_MARKUP = re.compile(
    r":[\w:+.-]+:`~?(?P<role>[^`<]+?)\s*(?:<[^`>]*>)?`"
    r"|`(?P<link>[^`<]+?)\s*<[^`>]*>`_{1,2}"
    r"|``(?P<literal>[^`]+)``"
    r"|`(?P<name>[^`]+)`_{0,2}"
    r"|\*\*(?P<strong>[^*\n]+)\*\*"
    r"|(?<![\w*])\*(?P<emphasis>[^\s*](?:[^*\n]*[^\s*])?)\*(?![\w*])"
    r"|\\(?P<escaped>.)"
)
_SENTENCE = re.compile(r"^(.+?(?<!e\.g)(?<!i\.e)(?<!etc)[.:])(?=\s|$)", re.DOTALL)


def plain_text(rst: str) -> str:
    """Take the markup away: one line a paragraph or list item, blank lines between.

    Literal blocks and tables keep their lines; directives leave their content.
    """
    paragraphs: list[str] = []
    introduced: int | None = None  # margin of the paragraph whose ``::`` opens a literal block
    for lines in _blocks(_TABLE_BLOCK.sub("", dedent(rst.expandtabs(4)).strip())):
        margin = min(len(line) - len(line.lstrip()) for line in lines)
        literal = not any("``" in line for line in lines)  # else DALI indents prose as far
        if introduced is not None and margin > introduced and literal:
            paragraphs.append(indent(dedent("\n".join(lines)), "  "))
            continue
        introduced = margin if lines[-1].endswith("::") else None
        text = _MARKUP.sub(lambda found: found[found.lastgroup or 0], "\n".join(_joined(lines)))
        paragraphs.append(re.sub(r"::$", ":", text.strip(), flags=re.MULTILINE))
    return "\n\n".join(filter(None, paragraphs))


def first_sentence(text: str) -> str:
    """Return the first sentence of a plain text, on one line."""
    paragraph = " ".join(text.split("\n\n", 1)[0].split())
    found = _SENTENCE.match(paragraph)
    return (found.group(1) if found else paragraph).rstrip(":")


def _blocks(text: str) -> Iterator[list[str]]:
    """Split at blank lines, directives resolved."""
    lines = [_directive(line) for line in text.splitlines()]
    for blank, group in groupby(lines, key=lambda line: not line.strip()):
        if not blank:
            yield [line.rstrip() for line in group]


def _directive(line: str) -> str:
    """Turn ``.. note::`` into ``Note:``; of other directives only the content stays."""
    found = _DIRECTIVE.match(line)
    if not found:
        return line
    margin, name, rest = found.groups()
    return f"{margin}{_KEPT[name]}{rest}" if name in _KEPT else ""


def _joined(lines: list[str]) -> Iterator[str]:
    """Join the lines of a block, but for list items and table rows."""
    pending = ""
    for line in lines:
        item, row = _ITEM.match(line), _ROW.match(line)
        if pending and (item or row):
            yield pending
            pending = ""
        if row:
            yield line.strip()
            continue
        words = line[item.end() :] if item else line.strip()
        words = words.removeprefix("| ")  # a line block inside the item
        if item:
            sign = item[1] if item[1][:-1].isdigit() else "•"
            words = f"{sign} {words}"
        pending = f"{pending} {words}".strip()
    if pending:
        yield pending
