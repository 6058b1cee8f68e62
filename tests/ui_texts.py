"""List the texts of the user interface on one page: ``python -m tests.ui_texts``.

Texts are grouped by component: Python strings in ``workbench/ui``, and labels, tooltips and other
text in the TypeScript sources. A few rules filter out names, keys and CSS; some internal strings
remain.

    python -m tests.ui_texts                 # all texts, grouped by component
    python -m tests.ui_texts preview bar     # some components
    python -m tests.ui_texts --sample 60     # random texts for a review; the seed is printed
    python -m tests.ui_texts --sample 60 --seed 7
"""

from __future__ import annotations

import argparse
import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path

UI = Path(__file__).parent.parent / "workbench" / "ui"
SOURCES = UI / "frontend" / "src"
_NOT_SHOWN = {"typescript.py", "part_stubs.py", "payloads.ts", "python.ts", "code_before_cursor.py"}
_COMMENT = re.compile(r"/\*.*?\*/|(?<![:\"'`])//[^\n]*", re.DOTALL)
_INTERNAL = re.compile(
    r"""import [^;]*;|(?:class|className|class:|d|viewBox|style|transform)\s*[=:]\s*
    (?:"[^"]*"|\{`[^`]*`\}|`[^`]*`)""",
    re.VERBOSE,
)
_LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`')
_JSX = re.compile(
    r"(?<![=<])>([^<>{}`;=]*[A-Za-z]{2}[^<>{}`;=]*)(?=[<{])|^\s*([A-Z][^<>{}();=\"`]+)$", re.M
)
_TEXT = re.compile(r"[A-Z]?[a-z]+[,.:…]? [A-Za-z(]|^[A-Z][a-z]+(?: \(.*\))?$|[a-z]…$")
_CODE = re.compile(
    r"^[.#\[(:,]|^(Escape|Enter|Delete)$|Readonly|textarea|wb-|=>|\[data|^[\w./]+$(?<![a-z])|px\b|--\w|^SELECT|<\w|;$|\{\{|\\[dws]|&&"
)


def python_texts(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of the strings of a module, without docstrings."""
    tree = ast.parse(path.read_text())
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    skipped |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
                for part in node.values}  # fmt: skip
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            parts = (p.value if isinstance(p, ast.Constant) else "…" for p in node.values)
            yield node.lineno, "".join(map(str, parts))


def typescript_texts(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of string literals and JSX text, without comments and attributes of style."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    source = _INTERNAL.sub(blank, _COMMENT.sub(blank, path.read_text()))
    for pattern in (_LITERAL, _JSX):
        for found in pattern.finditer(source):
            text = re.sub(r"\$\{[^{}]*\}", "…", found[1] or found[2] or "")
            yield source.count("\n", 0, found.start(found.lastindex or 0)) + 1, text


def component_of(path: Path) -> str:
    """Name of the folder, or of the module, below ``workbench/ui`` or the front end's sources."""
    root = SOURCES if SOURCES in path.parents else UI
    return path.relative_to(root).parts[0].partition(".")[0]


def texts() -> dict[str, list[str]]:
    """Component -> its texts, each with file and line."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted([*UI.rglob("*.py"), *SOURCES.rglob("*.ts*")]):
        if path.name in _NOT_SHOWN or "node_modules" in path.parts:
            continue
        read = python_texts if path.suffix == ".py" else typescript_texts
        for line, text in sorted(read(path)):
            shown = " ".join(text.replace("\\n", " ").split())
            if _TEXT.search(shown) and not _CODE.search(shown):
                entry = f"{shown}   ({path.relative_to(UI)}:{line})"
                found.setdefault(component_of(path), {}).setdefault(shown, entry)
    return {name: list(entries.values()) for name, entries in sorted(found.items())}


def main() -> None:
    """Print the page or a random sample of it."""
    parser = argparse.ArgumentParser(description="List the texts of the user interface.")
    parser.add_argument("components", nargs="*", help="components to list; all by default")
    parser.add_argument("--sample", type=int, default=0, help="print this number of random texts")
    parser.add_argument("--seed", type=int, help="seed of the sample; random by default")
    given = parser.parse_args()
    page = texts()
    page = {name: page[name] for name in given.components or page}
    if given.sample:
        seed = random.randrange(10_000) if given.seed is None else given.seed
        every = [f"{name}: {text}" for name, entries in page.items() for text in entries]
        print(f"Seed {seed}, {len(every)} texts")
        print("\n".join(random.Random(seed).sample(every, min(given.sample, len(every)))))
        return
    for name, entries in page.items():
        print(f"\n{name}\n{'=' * len(name)}\n" + "\n".join(entries))


if __name__ == "__main__":
    main()
