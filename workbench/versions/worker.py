"""Render shards in a process of its own, which is started by ``processes``.

Each line of standard input is a task and a method of `ShardRenderer`, as a JSON list. Answers are
JSON objects: for ``render``, the number of samples after each batch, then ``done``; for the other
methods, their result; or an ``error``.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from workbench.engine.protocol.exit_status import raise_oom_score
from workbench.errors import WorkbenchError
from workbench.graph.user_functions.trust import trust_everything
from workbench.system_limits import describe_refusal
from workbench.versions.plan import Task
from workbench.versions.shard import ShardRenderer


def main() -> None:
    """Answer the tasks of standard input. The arguments are a folder and a number of threads."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what DALI prints is no answer

    def answer(**found: Any) -> None:
        print(json.dumps(found), file=answers, flush=True)

    raise_oom_score(os.getpid())
    trust_everything()  # the parent renders only graphs whose code is trusted
    renderer = ShardRenderer(Path(sys.argv[1]), int(sys.argv[2]))
    for line in sys.stdin:
        *task, method = json.loads(line)
        try:
            if method != "render":
                answer(**getattr(renderer, method)(Task(*task)))
                continue
            renderer.render(Task(*task), lambda count: answer(samples=count))
        except (WorkbenchError, OSError, MemoryError) as error:
            known = describe_refusal(error) if isinstance(error, OSError) else None
            answer(error=known or str(error) or type(error).__name__)
            return
        answer(done=True)
