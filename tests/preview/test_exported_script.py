"""How an exported script that fails is told: the signal, the node, DALI's own words."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import chain_graph, with_settings
from workbench.catalog import load_catalog
from workbench.emit.core.code import Code
from workbench.emit.targets import Export
from workbench.engine import Engine
from workbench.errors import WorkerTimeoutError
from workbench.graph import Graph, load_recipe
from workbench.graph.edits.edit import set_arg
from workbench.preview.verification import exported_script
from workbench.preview.verification import verify as module
from workbench.preview.verification.exported_script import ExportedScript, _last_words
from workbench.preview.verification.verify import Verifier
from workbench.sources import open_datasets


def test_the_node_that_fails_is_named(photos: Path, engine: Engine) -> None:
    graph = with_settings(load_recipe("imagenet-eval"), batch_size=2)
    graph = set_arg(graph, load_catalog(), "normalize", "crop", (5000, 5000))
    failure = Verifier(graph, str(photos), 1, engine=engine).run().failure
    assert failure.startswith("The exported script ended with exit code 1 in normalize: Slice ")
    assert failure.endswith("Change the values of normalize or what feeds it.")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGSEGV, "was ended by SIGSEGV (segmentation fault). Every file can be decoded"),
        (signal.SIGKILL, "was ended by SIGKILL: out of memory, or killed from outside."),
        (signal.SIGBUS, "was ended by SIGBUS (bus error). Probably a file of the folder was"),
    ],
)
def test_a_script_that_a_signal_ends(
    number: int, words: str, photos: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def emit(graph: Graph, target: str, **options: Any) -> Export:
        code = Code(f"import os\nos.kill(os.getpid(), {int(number)})\n", {})
        return Export(target, {"pipe.py": code})

    monkeypatch.setattr(module, "export", emit)
    graph = with_settings(chain_graph("resize"), batch_size=2)
    failure = Verifier(graph, str(photos), 1, engine=engine).run().failure
    assert failure.startswith(f"The exported script {words}")


def test_the_kernel_ends_the_script_before_the_notebook(photos: Path, tmp_path: Path) -> None:
    text = "def build_pipeline(data, device):\n    return None\n"

    def score(pid: int | str) -> int:
        return int(Path(f"/proc/{pid}/oom_score_adj").read_text())

    script = ExportedScript(
        Code(text, {}), open_datasets(photos), "cpu", str(tmp_path), lambda: None
    )
    with script:
        assert score(script._process.pid) == min(1000, score("self") + 500)


def test_a_script_that_never_answers_is_ended(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exported_script, "LIMIT", 0.5)
    text = "def build_pipeline(data, device):\n    while True:\n        pass\n"
    script = ExportedScript(
        Code(text, {}), open_datasets(photos), "cpu", str(tmp_path), lambda: None
    )
    with pytest.raises(WorkerTimeoutError, match="may have a loop without an end"), script:
        pass
    assert script._process.poll() is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        ("a warning\nterminate called\n", "a warning\nterminate called"),
        ('Traceback (most recent call last):\n  File "x", line 1\n    run()\n', ""),
        ('Traceback (most recent call last):\n  File "x", line 1\nKeyError: 3\n', "KeyError: 3"),
        (
            'Traceback (most recent call last):\n  File "x", line 1\nException: in user code:\n\n'
            '    File "pipe.py", line 3, in pipe  *\n        images = rand_augment(images)\n'
            '    File "rand_augment.py", line 126, in rand_augment  *\n        raise Exception(\n\n'
            "    Exception: The `r` was excluded.\n\n",
            "Exception: The `r` was excluded",
        ),
        ("Traceback (most recent call last):\nError encountered:\nno.\nC++ context\n", "no"),
    ],
)
def test_last_words(text: str, words: str) -> None:
    assert _last_words(text) == words
