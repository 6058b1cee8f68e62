"""The preview compared with the exported script, also with bad files and failing scripts."""

from __future__ import annotations

import io
import shutil
import signal
import struct
import subprocess
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.damaged import REFUSED, make_folder
from tests.helpers import chain_graph, recipe_cases, script_batches, with_node, with_settings
from tests.thorough import one_in
from workbench.catalog import load_catalog
from workbench.emit.core.code import Code
from workbench.emit.targets import Export, export
from workbench.engine import Engine
from workbench.engine.file_checks.usable_data import UsableData, describe_left_out
from workbench.engine.reading.encoded_images import reject_reason
from workbench.errors import CancelledError, DataError, GraphFaultsError, WorkerTimeoutError
from workbench.graph import Graph, load_recipe
from workbench.graph.edits.edit import set_arg
from workbench.health.check import check_folder
from workbench.preview import PreviewRequest, exported_script, preview_batch
from workbench.preview import verify as module
from workbench.preview.exported_script import ExportedScript, _script_error
from workbench.preview.verify import Deviation, Verification, Verifier, deviation, verify
from workbench.roots import Roots
from workbench.sources import open_dataset, open_datasets

COUNT = 4


OF_PAPERS = (
    *("byol", "chest-xray", "ct-slice", "dino", "histology-stain", "moco-v3", "simclr"),
    *("rand-augment", "auto-augment", "trivial-augment", "augmix"),
)
SLOW = ("rand-augment", "auto-augment")
"""DALI builds their scripts in seconds: thorough, as is that of ``trivial-augment``."""


@pytest.mark.parametrize("device", ["cpu", pytest.param("mixed", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("graph", recipe_cases(slow=SLOW, every=6))
def test_every_recipe_is_exact(
    graph: Graph, device: str, engine: Engine, data_of: Callable[..., Path]
) -> None:
    graph = with_settings(graph, batch_size=COUNT, device=device)
    report = Verifier(graph, str(data_of(graph, device)), 2, engine=engine).run()
    assert report.lines() == [f"identical: {2 * COUNT} of {2 * COUNT}"]
    assert report.exact
    assert report.device == device


def test_it_is_where_the_script_is_started_as_for_a_user(
    engine: Engine, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exported_script, "subprocess", subprocess)  # others are forked
    graph = with_settings(load_recipe("imagenet-train"), batch_size=COUNT)
    assert Verifier(graph, str(photos), 1, engine=engine).run().exact


@pytest.mark.parametrize("device", ["cpu", pytest.param("mixed", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("pipelines", one_in(2, [1, 2], first=1))
def test_the_exported_loader_is_compared_for_an_epoch(
    pipelines: int, device: str, engine: Engine, photos: Path
) -> None:
    """Of 120 photos in batches of 7 the last ones are short."""
    pytest.importorskip("torch")
    graph = with_settings(
        load_recipe("imagenet-train"), batch_size=7, pipelines=pipelines, device=device
    )
    report = Verifier(graph, str(photos), 100, engine=engine, target="pytorch").run()
    assert report.lines() == ["identical: 120 of 120"]
    assert report.exact


@pytest.fixture(scope="module")
def odd_images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Grey, tiny, narrow, with alpha, of one colour."""
    folder = tmp_path_factory.mktemp("odd_images")
    chance = np.random.default_rng(3)
    for name, shape in {
        "grey.jpg": (40, 30),
        "tiny.png": (8, 6, 3),
        "pixel.png": (1, 1, 3),
        "narrow.png": (3, 90, 3),
        "alpha.png": (20, 20, 4),
    }.items():
        Image.fromarray(chance.integers(0, 256, shape, np.uint8)).save(folder / name)
    Image.new("RGB", (50, 40), "black").save(folder / "black.png")
    return folder


@pytest.mark.thorough
@pytest.mark.parametrize("graph", recipe_cases(only=OF_PAPERS))
def test_recipes_of_papers_take_grey_and_small_images(
    graph: Graph, odd_images: Path, engine: Engine, tmp_path: Path
) -> None:
    graph = with_settings(graph, batch_size=6)
    report = Verifier(graph, str(odd_images), 2, engine=engine).run()
    assert report.lines() == ["identical: 12 of 12"]
    outputs = script_batches(graph, odd_images, 1, tmp_path)[0]
    assert all(np.isfinite(np.asarray(sample, float)).all() for o in outputs for sample in o)


def test_it_tells_how_far_it_is(photos: Path) -> None:
    heard: list[tuple[float, str]] = []
    graph = with_settings(load_recipe("imagenet-eval"), batch_size=COUNT)
    report = verify(graph, str(photos), 3, on_progress=lambda *told: heard.append(told))
    assert report.exact
    assert [text for _, text in heard] == [
        "looking for bad files",
        "building the script's pipeline",
        "batch 1 of 3",
        "batch 2 of 3",
        "batch 3 of 3",
        "done",
    ]
    assert [share for share, _ in heard] == sorted(share for share, _ in heard)


def test_what_differs_is_named(
    photos: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script of a graph that differs in one value from the one that is previewed."""
    from workbench.preview import verify as module

    graph = with_settings(
        chain_graph("brightness", brightness={"brightness": 1.0}), batch_size=COUNT
    )
    other = with_node(graph, "brightness", args={"brightness": 1.1})
    monkeypatch.setattr(module, "export", lambda _, target, **options: export(other, target))
    report = Verifier(graph, str(photos), 1, engine=engine).run()
    assert not report.exact
    assert report.identical == 0
    assert report.lines()[-1] == f"identical: 0 of {COUNT}"
    assert [one.sample for one in report.deviations] == list(range(COUNT))
    for one in report.deviations:
        assert one.output == "images"
        assert one.values is not None
        assert one.total is not None
        assert 0 < one.values <= one.total
        assert one.largest is not None
        assert 0 < one.largest <= 26, "a tenth of 255"
        assert (photos / one.file).exists()
        assert "values differ, by" in one.text


def test_files_are_named_relative_to_where_the_user_is(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an imported pipeline does."""
    photo = next(photos.rglob("*.jpg"))
    (tmp_path / "list.txt").write_text(f"{photo.relative_to(photos)} 3\n")
    monkeypatch.chdir(tmp_path)
    graph = with_settings(chain_graph("resize"), batch_size=2)
    named = {"file_list": "list.txt", "file_root": str(photos)}
    graph = with_node(graph, "reader", args=named)
    assert verify(graph, str(photos), 1).lines() == ["identical: 2 of 2"]
    missing = with_node(graph, "reader", args=named | {"file_list": "no.txt"})
    failure = verify(missing, str(photos), 1).failure
    assert "no.txt" in failure, "in DALI's own words"


@pytest.mark.thorough
def test_files_outside_the_roots_are_left_out(engine: Engine, photos: Path, tmp_path: Path) -> None:
    inside = tmp_path / "photos"
    shutil.copytree(photos / "cat", inside / "cat")
    (inside / "cat" / "coin.jpg").symlink_to(next((photos / "coins").iterdir()))
    graph = with_settings(load_recipe("imagenet-eval"), batch_size=COUNT)
    report = Verifier(graph, str(inside), 1, engine=engine, roots=Roots.of([inside])).run()
    assert report.exact
    assert [one.file for one in report.left_out] == ["cat/coin.jpg"]


def test_what_cannot_run_is_refused(photos: Path, tmp_path: Path) -> None:
    with pytest.raises(GraphFaultsError):
        verify(chain_graph("rotate", rotate={"angle": "ten"}), str(photos))
    with pytest.raises(DataError, match="no folder"):
        verify(chain_graph(), str(tmp_path / "missing"))


@pytest.mark.parametrize("when", ["building", "batch 2"])
def test_it_can_be_cancelled(when: str, photos: Path) -> None:
    graph = with_settings(load_recipe("imagenet-eval"), batch_size=COUNT)
    verifier = Verifier(graph, str(photos), 1000)

    def hear(_: float, text: str) -> None:
        if text.startswith(when):
            threading.Thread(target=verifier.cancel).start()

    with pytest.raises(CancelledError):
        verifier.run(hear)


@pytest.mark.parametrize(
    ("preview", "script", "words"),
    [
        (np.zeros(3, np.uint8), np.zeros(3, np.uint8), None),
        (np.zeros((0, 2)), np.zeros((0, 2)), None),
        (np.full(2, np.nan), np.full(2, np.nan), None),
        (np.zeros(3, np.uint8), np.zeros(4, np.uint8), r"shape is \(3,\), the script's \(4,\)"),
        (np.zeros(3, np.uint8), np.zeros(3, np.int8), "outputs uint8, the script int8"),
        (np.zeros(2), np.array([0.0, -0.0]), "1 of 2 values differ, by at most 0"),
        (np.zeros((2, 2)), np.array([[0, 0], [0.5, 2]]), r"2 of 4 values.*by at most 2.*\(1, 0\)"),
        (np.zeros(2), np.array([0.0, np.nan]), "1 of 2 values differ, by at most nan"),
        (np.array([1, 255], np.uint8), np.array([255, 255], np.uint8), "by at most 254"),
    ],
)
def test_deviations(preview: NDArray[np.generic], script: NDArray[np.generic], words: str) -> None:
    import re

    found = deviation(preview, script)
    assert (found is None) == (words is None)
    if found is not None:
        assert re.search(words, found.text)


# A comparison continues without the files that would stop the script.


@pytest.mark.parametrize("kind", ["text.jpg", "empty.jpg"])
def test_bad_files_are_left_out_and_named(
    kind: str, photos: Path, tmp_path: Path, engine: Engine
) -> None:
    bad, _ = make_folder(photos, tmp_path, [kind, kind])
    graph = with_settings(chain_graph("resize", reader={"random_shuffle": True}), batch_size=2)
    report = Verifier(graph, str(bad), 2, engine=engine).run()
    assert report.exact
    assert [one.file for one in report.left_out] == [f"class/0{n}_{kind}" for n in (0, 1)]
    assert all(REFUSED[kind][1] in one.reason for one in report.left_out)
    left_out, last = report.lines()
    assert left_out.startswith("2 bad files excluded: class/00")
    assert last == "identical: 4 of 4"


def test_an_image_too_large_for_the_preview_is_left_out_and_is_not_bad(tmp_path: Path) -> None:
    data = io.BytesIO()
    Image.new("RGB", (8, 8)).save(data, "PNG")
    head = b"IHDR" + struct.pack(">II", 20_000, 15_000) + data.getvalue()[24:29]
    giant = data.getvalue()[:12] + head + struct.pack(">I", zlib.crc32(head))
    (tmp_path / "giant.png").write_bytes(giant + data.getvalue()[33:])
    (tmp_path / "small.png").write_bytes(data.getvalue())
    (file,) = check_folder(tmp_path, full=False).files
    assert (file.file, file.level) == ("giant.png", "unusual")
    assert "the preview shows at most 268,435,456" in file.reason
    assert file.reason in str(reject_reason((tmp_path / "giant.png").read_bytes()))
    for for_preview in (False, True):
        usable = UsableData({"data": open_dataset(tmp_path)}, for_preview=for_preview)
        assert usable.exclude_bad(full=False) is for_preview
        assert describe_left_out(usable.excluded).startswith("1 file excluded" * for_preview)


def test_an_empty_folder_is_told_as_in_the_preview(tmp_path: Path, engine: Engine) -> None:
    with pytest.raises(DataError) as told:
        Verifier(chain_graph("resize"), str(tmp_path), 1, engine=engine).run()
    with pytest.raises(DataError) as shown:
        preview_batch(engine, PreviewRequest(chain_graph("resize"), str(tmp_path)))
    assert str(told.value) == str(shown.value)


# Reports about a failing exported script: the signal, the node, DALI's message.


def test_the_node_that_fails_is_named(photos: Path, engine: Engine) -> None:
    graph = with_settings(load_recipe("imagenet-eval"), batch_size=2)
    graph = set_arg(graph, load_catalog(), "normalize", "crop", (5000, 5000))
    failure = Verifier(graph, str(photos), 1, engine=engine).run().failure
    assert failure.startswith("The exported script ended with exit code 1 in normalize: Slice ")
    assert failure.endswith("Change the values of normalize or its inputs.")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (
            signal.SIGSEGV,
            "was terminated by SIGSEGV (segmentation fault). Every file can be decoded",
        ),
        (signal.SIGKILL, "was terminated by SIGKILL: out of memory, or killed from outside."),
        (signal.SIGBUS, "was terminated by SIGBUS (bus error). Probably a file of the folder was"),
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
    with pytest.raises(WorkerTimeoutError, match="has an endless loop"), script:
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
    assert _script_error(text) == words


def test_the_cause_of_deviations_in_a_last_batch_is_named_before_the_count() -> None:
    one = Deviation(1, 3, "a.jpg", "images", "4 of 12 values differ")
    report = Verification(8, 7, 2, "mixed", (one,), note="The last batch is incomplete.")
    assert report.lines()[1:] == ["The last batch is incomplete.", "identical: 7 of 8"]
    assert not report.exact


@pytest.mark.gpu
def test_a_loader_with_a_share_of_hardware_decoding_equals_the_preview_or_names_the_cause(
    engine: Engine, photos: Path
) -> None:
    pytest.importorskip("torch")
    graph = with_settings(load_recipe("rotate-jitter"), batch_size=64, device="mixed")
    for share in (None, 0.0, 1.0):
        args = {} if share is None else {"hw_decoder_load": share}
        shared = graph.replace_node(graph.node("decode").with_args(args))
        found = Verifier(shared, str(photos), 3, engine=engine, target="pytorch").run()
        assert found.exact or (share is None and "hw_decoder_load" in found.note)
