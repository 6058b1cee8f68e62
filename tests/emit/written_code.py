"""What is read out of exported code, and what ruff says of it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.helpers import CATALOG
from workbench.emit.templates.template_parts import function_name
from workbench.graph import Graph
from workbench.sources import load_source

ENVELOPE = {
    "argparse.ArgumentParser": 1,
    "main": 1,
    "parser.add_argument": 5,
    "parser.parse_args": 1,
    "pipe.build": 1,
    "pipe.run": 2,
    "print": 1,
    "range": 2,
    "time.perf_counter": 2,
    "build_pipeline": 1,
    "find_files": 1,
}
"""Every call of a script besides its operators and those that find the files."""


def calls_in(text: str) -> Counter[str]:
    tree = ast.parse(text)
    return Counter(ast.unparse(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call))


def expected_calls(graph: Graph) -> Counter[str]:
    specs = [CATALOG[node.op] for node in graph.walk()]
    ops = Counter(
        f"{spec.module or 'fn'}.{spec.name}"
        for spec in specs
        if not spec.bodies and not spec.expression
    )
    if any(node.bodies or CATALOG[node.op].module for node in graph.nodes):
        ops["pipeline_def"] = 1  # called, to ask for conditionals
    finding = calls_in(load_source("folder").find_source)
    return ops + Counter(ENVELOPE) + finding + Counter([function_name(graph)])


def imports_in(text: str) -> set[str]:
    nodes = list(ast.walk(ast.parse(text)))
    names = {alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names}
    return names | {str(n.module) for n in nodes if isinstance(n, ast.ImportFrom)}


def ruff(folder: Path) -> subprocess.CompletedProcess[str]:
    """Ruff's formatter and its rules, with no configuration, over a folder."""
    for arguments in (["format", "--isolated", "--diff"], ["check", "--isolated"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--no-cache", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return done
    return done
