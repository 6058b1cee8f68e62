"""A module of the front end, run by Node outside of a browser."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

FRONTEND = Path(__file__).parents[2] / "workbench/ui/frontend"
_READ = 'import { readFileSync } from "node:fs";\n'
_ANSWER = """
const given = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(answer(given)));
"""


def run_module(source: str, given: Any) -> Any:
    """What the function ``answer`` of a TypeScript source makes of a JSON value.

    The source may import modules of ``src``: ``./src/lib/ranking``.
    """
    bundle = subprocess.run(
        [
            *("node_modules/.bin/esbuild", "--bundle", "--format=esm", "--platform=node"),
            *("--loader=ts", "--log-level=error"),
        ],
        cwd=FRONTEND,
        input=f"{_READ}{source}{_ANSWER}",
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    made = subprocess.run(
        ["node", "--input-type=module", "--eval", bundle],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(made.stdout)
