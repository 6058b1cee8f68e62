"""Report words that make the text hard to read: ``python -m tests.wording`` (in ``make lint``).

Checks docstrings, comments, messages, command-line help and Markdown for the words listed in
``wording.toml``. Text in backticks, code blocks, generated files and golden files are skipped.

The texts are being rewritten, so the check is a ratchet for now: ``wording.toml`` stores the number
of hits of each folder, and the check fails only if a folder has more. ``--update`` stores lower
numbers and never higher ones. A folder without an entry must have no hits.

    python -m tests.wording                          # check
    python -m tests.wording workbench/cli.py         # list all hits of a file or folder
    python -m tests.wording --update                 # store the lower numbers
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).parent.parent
CONFIG = ROOT / "tests" / "wording.toml"
SKIPPED = re.compile(r"/golden/|REFERENCE\.md$|tests/wording|payloads\.ts$")
CHECKED = re.compile(r"\.(py|md|toml|j2|ipynb|ts|tsx)$|recipes/[^/]+\.json$")
TOML_KEY = re.compile(r"[\w.-]+(?= = )")
CODE = re.compile(r"```.*?```|``[^`]+``|`[^`\n]+`|\{[\w.]+\}", re.DOTALL)
TYPESCRIPT_TEXT = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|>[^<>{}]+<",
    re.DOTALL,
)


def python_texts(source: str) -> Iterator[tuple[int, str]]:
    """Line number and text of each comment and string."""
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)}
    for token in tokenize.generate_tokens(StringIO(source).readline):
        if token.type in kinds:
            yield token.start[0], token.string


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Line number and text of the parts of a file that people read."""
    source = path.read_text()
    if path.suffix == ".py":
        yield from python_texts(source)
    elif path.suffix in {".ts", ".tsx"}:
        for found in TYPESCRIPT_TEXT.finditer(source):
            yield source.count("\n", 0, found.start()) + 1, found[0]
    elif path.suffix == ".ipynb":
        for number, cell in enumerate(json.loads(source)["cells"], 1):
            yield number, "".join(cell["source"])
    elif path.suffix == ".toml":
        yield 1, TOML_KEY.sub(blank, source)
    else:
        yield 1, source


def blank(found: re.Match[str]) -> str:
    """Spaces and line breaks in place of a match, so that line numbers stay right."""
    return re.sub(r"[^\n]", " ", found[0])


def phrase(text: str) -> str:
    """A regular expression in which a space also matches a line break and a comment sign."""
    return text.replace(" ", r"(?:\s|#|//)+")


class Wording:
    """The words and exceptions of ``wording.toml``."""

    def __init__(self) -> None:
        config = tomllib.loads(CONFIG.read_text())
        self.counts: dict[str, int] = config.get("counts", {})
        self.advice: dict[str, str] = config["words"]
        self._allowed = re.compile(
            "|".join(phrase(re.escape(p).replace(r"\ ", " ")) for p in config["allow"]), re.I
        )
        groups = (rf"(?P<w{i}>{phrase(word)})" for i, word in enumerate(self.advice))
        self._words = re.compile(rf"\b(?:{'|'.join(groups)})\b", re.I)

    def hits(self, path: Path) -> Iterator[tuple[int, str, str]]:
        """Line (of a notebook: cell), word found, and what to write instead."""
        advice = list(self.advice.values())
        for line, text in texts(path):
            if not self._words.search(text):
                continue
            text = self._allowed.sub(blank, CODE.sub(blank, text))
            for found in self._words.finditer(text):
                offset = 0 if path.suffix == ".ipynb" else text.count("\n", 0, found.start())
                index = int((found.lastgroup or "w0")[1:])
                yield line + offset, " ".join(found[0].split()), advice[index]


def checked_files() -> list[Path]:
    """Files of the repository that the check reads, also new ones that git does not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    names = sorted(set(listed.stdout.splitlines()))
    found = (ROOT / name for name in names if CHECKED.search(name) and not SKIPPED.search(name))
    return [path for path in found if path.is_file()]


def folder_of(path: Path) -> str:
    """The folder that a file is counted in: two levels in ``workbench/``, else one."""
    parts = path.relative_to(ROOT).parts[:-1]
    return "/".join(parts[: 2 if parts and parts[0] == "workbench" else 1]) or "."


def update(counts: dict[str, int]) -> None:
    """Store ``counts`` at the end of ``wording.toml``."""
    head = CONFIG.read_text().partition("\n# Hits of each folder")[0].rstrip()
    rows = [f'"{folder}" = {count}' for folder, count in sorted(counts.items()) if count]
    note = "# Hits of each folder. `python -m tests.wording --update` lowers them."
    CONFIG.write_text("\n".join([head, "", note, "[counts]", *rows]) + "\n")


def main(arguments: list[str]) -> int:
    """Return 1 if a folder has more hits than ``wording.toml`` stores for it."""
    wording = Wording()
    shown = [ROOT / name for name in arguments if not name.startswith("-")]
    counts: Counter[str] = Counter()
    lines: dict[str, list[str]] = {}
    for path in checked_files():
        if shown and not any(path == each or each in path.parents for each in shown):
            continue
        for line, word, advice in wording.hits(path):
            folder = folder_of(path)
            counts[folder] += 1
            lines.setdefault(folder, []).append(
                f"{path.relative_to(ROOT)}:{line}: {word} ({advice})"
            )
    if shown:
        print("\n".join(line for each in lines.values() for line in each))
        return 0
    if "--update" in arguments:
        known = wording.counts or counts
        update({folder: min(count, known.get(folder, 0)) for folder, count in counts.items()})
        return 0
    failed = 0
    for folder, count in counts.items():
        allowed = wording.counts.get(folder, 0)
        if count > allowed:
            failed += 1
            print("\n".join(lines[folder][:40]))
            print(f"{folder}: {count} words of tests/wording.toml, at most {allowed} allowed.")
    total, before = sum(counts.values()), sum(wording.counts.values())
    print(f"Wording: {total} hits, {before} allowed. The allowed number may only fall.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
