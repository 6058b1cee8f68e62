"""DALI's reStructuredText documentation as plain text for a tooltip."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from textwrap import dedent

_DIRECTIVE = re.compile(r"^(\s*)\.\. ([\w-]+)::[ \t]*(.*)$")
_ADMONITIONS = {"note": "Note: ", "warning": "Warning: ", "important": "Important: "}
_ITEM = re.compile(r"^\s*(?:[-*•]|\d+\.)\s+")
_TABLE = re.compile(r"^\s*(?:\+[-=+]+\+|\|.*\||=+( +=+)+)\s*$")

_MARKUP = (
    (
        re.compile(r":[\w:+.-]+:`~?([^`<]+?)\s*(?:<[^`>]*>)?`"),
        r"\1",
    ),  # :meth:`text <target>`
    (re.compile(r"`([^`<]+?)\s*<[^`>]*>`_{1,2}"), r"\1"),  # `text <address>`_
    (re.compile(r"``([^`]+)``"), r"\1"),
    (re.compile(r"`([^`]+)`_{0,2}"), r"\1"),
    (re.compile(r"\*\*([^*\n]+)\*\*"), r"\1"),
    (re.compile(r"(?<![\w*])\*([^\s*](?:[^*\n]*[^\s*])?)\*(?![\w*])"), r"\1"),
    (re.compile(r"\\(.)"), r"\1"),
)
_SENTENCE = re.compile(r"^(.+?(?<!e\.g)(?<!i\.e)(?<!etc)[.:])(?=\s|$)", re.DOTALL)


def plain_text(rst: str) -> str:
    """The text without markup: one line a paragraph or list item, blank lines between.

    Literal blocks and tables keep their lines.
    """
    paragraphs: list[str] = []
    literal = False
    for lines in _blocks(rst):
        if literal and lines[0].startswith(" "):
            paragraphs.append(
                "\n".join("  " + line for line in dedent("\n".join(lines)).split("\n"))
            )
            continue
        literal = lines[-1].endswith("::")
        text = "\n".join(_joined(lines))
        paragraphs.append(
            _without_markup(text).replace("::", ":") if literal else _without_markup(text)
        )
    return "\n\n".join(filter(None, paragraphs))


def first_sentence(text: str) -> str:
    """The first sentence of a plain text, on one line."""
    paragraph = " ".join(text.split("\n\n", 1)[0].split())
    found = _SENTENCE.match(paragraph)
    return (found.group(1) if found else paragraph).rstrip(":")


def _blocks(rst: str) -> Iterator[list[str]]:
    """Runs of lines between blank ones, directives resolved."""
    lines = [_directive(line) for line in dedent(rst.expandtabs(4)).strip().splitlines()]
    for blank, group in groupby(lines, key=lambda line: not line.strip()):
        if not blank:
            yield [line.rstrip() for line in group]


def _directive(line: str) -> str:
    """``.. note::`` becomes ``Note:``; other directives leave nothing but their content."""
    found = _DIRECTIVE.match(line)
    if not found:
        return line
    indent, name, rest = found.groups()
    return f"{indent}{_ADMONITIONS[name]}{rest}" if name in _ADMONITIONS else ""


def _joined(lines: list[str]) -> Iterator[str]:
    """The lines of one block, each list item or table row on one line, all else joined."""
    pending = ""
    for line in lines:
        if pending and (_ITEM.match(line) or _TABLE.match(line)):
            yield pending
            pending = ""
        if _TABLE.match(line):
            yield line.strip()
            continue
        words = line.strip()
        item = _ITEM.match(line)
        if item:
            words = f"• {line[item.end() :].removeprefix('| ')}"
        pending = f"{pending} {words}".strip()
    if pending:
        yield pending


def _without_markup(text: str) -> str:
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    return text.strip()
