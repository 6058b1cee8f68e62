"""The code panel without a toolkit: targets, their files, and where they may be written."""

from __future__ import annotations

import errno
import io
import os
import shutil
import stat
import zipfile
from pathlib import Path

import pytest

import workbench as wb
from tests.ui.screen import Make, Ready, Screen, edit
from workbench.emit import emit_script
from workbench.emit.embedded_graph import code_hash, code_of, embedded_graph
from workbench.emit.targets import export, target_names
from workbench.errors import OverwriteError, SaveError
from workbench.graph import load_recipe
from workbench.graph.edits.connect import set_output
from workbench.roots import Roots
from workbench.ui.app.view_model import ViewModel
from workbench.ui.export.exports import entry_names, zip_archive
from workbench.ui.export.output_paths import OutputPath

# The code panel without a toolkit: targets, their files, and what cannot go where.


@pytest.fixture
def shown(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ready:
    """A model whose code panel is on the screen. It has no photos: nothing runs."""
    monkeypatch.chdir(tmp_path)
    model, screen = make(tmp_path)
    model.receive("code", "in_view", True)
    return model, screen


def paths(screen: Screen) -> list[str]:
    return [file["path"] for file in screen["code", "files"]]


def break_it(model: ViewModel) -> None:
    edit(model, "set", node="rotate", arg="fill_value", value="blue", group="")


def test_every_target_has_a_row_and_code(shown: Ready) -> None:
    model, screen = shown
    rows = screen["code", "targets"]
    names = [name for name in (row["name"] for row in rows) if " with " not in name]
    assert tuple(names) == target_names()
    assert all(row["about"] for row in rows)
    for name in target_names():
        model.receive("code", "target", name)
        assert screen["code", "fault"]["message"] == ""
        (main, code), *others = export(model.graph, name).files.items()
        found = {file["path"]: file["text"] for file in screen["code", "files"]}
        carrying = embedded_graph(code.text)
        assert carrying is not None
        assert code_hash(code_of(found.pop(main))) == code_hash(carrying.code)
        assert found == {path: file.text for path, file in others}
        assert model.state.target == name
    assert (
        screen["code", "source"] == emit_script(model.graph, model.catalog).text
    )  # the script, whatever is shown


def test_training_is_a_row_of_its_own(shown: Ready) -> None:
    model, screen = shown
    model.receive("code", "target", "pytorch with training")
    (file,) = screen["code", "files"]
    assert "def loss_of(" in file["text"]
    model.act("code", {"do": "save", "path": "loader"})
    assert Path("loader.py").read_text().startswith(file["text"])
    model.receive("code", "target", "script with training")
    assert "The target script has no variant with 'training'" in screen["bar", "message"]


def test_samples_are_rows_of_targets_that_can_return_them(shown: Ready) -> None:
    model, screen = shown
    rows = {row["name"] for row in screen["code", "targets"] if "samples" in row["name"]}
    both = {"pytorch with training+samples", "lightning with training+samples"}
    assert rows == {*both, "pytorch with samples", "lightning with samples", "jax with samples"}
    for name in rows:
        model.receive("code", "target", name)
        (file,) = screen["code", "files"]
        assert "def file_names(" in file["text"]
        assert ("def loss_of(" in file["text"]) == (name in both)
    model.receive("code", "target", "keras with samples")
    assert "The target keras has no variant with 'samples'" in screen["bar", "message"]


def test_code_is_for_the_data_that_are_open(shown: Ready, photos: Path) -> None:
    model, screen = shown
    assert "file_root=data" in screen["code", "files"][0]["text"]
    model.act("data", {"do": "open", "path": str(photos / "coffee")})
    assert "find_files(data)" in screen["code", "files"][0]["text"]


def test_a_target_that_there_is_not_is_refused(shown: Ready) -> None:
    model, screen = shown
    model.receive("code", "target", "pytorhc")
    assert "Did you mean pytorch?" in screen["bar", "message"]
    assert screen["code", "target"] == "script"


@pytest.mark.parametrize("target", ["script", "pytorch", "triton", "notebook"])
def test_the_lines_of_the_selected_node_are_lit_where_they_are_known(
    shown: Ready, target: str
) -> None:
    model, screen = shown
    model.receive("code", "target", target)
    model.receive("canvas", "selected", ["rotate"])
    highlighted = screen["code", "highlighted"]
    if target in ("notebook", "triton"):  # in cells; and what draws is left out
        assert highlighted == {}
        return
    main = screen["code", "files"][0]
    assert list(highlighted) == [main["path"]]
    text = "\n".join(main["text"].splitlines()[line - 1] for line in highlighted[main["path"]])
    assert "fn.rotate(" in text
    assert "fn.random.uniform(" in text  # what feeds its angle


def test_nothing_is_sent_while_nobody_looks(shown: Ready) -> None:
    model, screen = shown
    model.receive("code", "in_view", False)
    screen.published.clear()
    edit(model, "set", node="rotate", arg="angle", value=3, group="")
    sent = {field for component, field in screen.published if component == "code"}
    assert sent == {"source", "files", "download", "highlighted"}
    assert screen["code", "download"] == b""
    assert screen["code", "files"] == []
    screen.published.clear()
    edit(model, "set", node="rotate", arg="angle", value=2, group="")
    sent = {field for component, field in screen.published if component == "code"}
    assert sent == {"source"}
    edit(model, "set", node="rotate", arg="angle", value=3, group="")
    model.receive("code", "in_view", True)
    assert "angle=3" in screen["code", "files"][0]["text"]


def test_a_fault_is_named_and_no_code_of_an_earlier_graph_is_left(shown: Ready) -> None:
    model, screen = shown
    break_it(model)
    fault = screen["code", "fault"]
    assert fault["node"] == "rotate"
    assert "blue" in fault["message"]
    assert screen["code", "files"] == []
    assert screen["code", "highlighted"] == {}
    assert screen["code", "source"] == ""
    model.receive("code", "target", "jax")  # one that was not looked at before
    assert screen["code", "files"] == []
    assert screen["code", "fault"]["node"] == "rotate"
    model.act("code", {"do": "save", "path": "loader.py"})
    assert "The graph was not exported" in screen["code", "message"]
    assert not Path("loader.py").exists()
    model.act("bar", {"do": "undo"})
    assert screen["code", "fault"]["message"] == ""


def test_what_cannot_go_to_a_target_says_which_node_and_why(shown: Ready) -> None:
    model, screen = shown
    model.receive("code", "target", "triton")
    assert len(screen["code", "files"]) > 1
    model.set_graph(set_output(load_recipe("rotate-jitter"), "images", None))
    fault = screen["code", "fault"]
    assert fault["node"] == "reader"
    assert "Triton" in fault["message"]
    assert screen["code", "files"] == []
    assert screen["code", "download"] == b""
    model.act("code", {"do": "save", "path": "served"})
    assert not Path("served").exists()
    model.act("code", {"do": "select", "node": "reader"})
    assert screen["canvas", "selected"] == ["reader"]
    model.receive("code", "target", "script")
    assert screen["code", "fault"]["message"] == ""


def test_the_menu_says_which_targets_cannot_hold_the_graph_and_why(shown: Ready) -> None:
    model, screen = shown
    model.act("bar", {"do": "recipe", "name": "simclr"})
    assert screen["bar", "refusals"] == {}  # until the menu is opened
    model.act("bar", {"do": "find_refusals"})
    screen.wait(lambda s: s["bar", "refusals"] and s["code", "refusals"], "the refusals")
    found = screen["bar", "refusals"]
    assert screen["code", "refusals"] == found
    assert "does not support 'if'" in found["dynamic"]
    assert not {"script", "pytorch"} & found.keys()
    model.act("bar", {"do": "undo"})
    assert screen["bar", "refusals"] == {}  # they were of the other graph


def test_files_are_saved_one_alone_several_in_a_new_folder(shown: Ready) -> None:
    model, screen = shown
    model.receive("code", "target", "pytorch")
    model.act("code", {"do": "save", "path": "loader"})
    saved = Path("loader.py").read_text()
    assert saved.startswith(screen["code", "files"][0]["text"])
    assert screen["code", "download"] == saved.encode()
    found = wb.from_file("loader.py")
    assert found.graph == model.graph
    assert found.document.layout == model.history.document.layout
    model.receive("code", "target", "triton")
    model.act("code", {"do": "save", "path": "served"})
    main, *others = screen["code", "files"]
    assert (Path("served") / main["path"]).read_text().startswith(main["text"])
    for file in others:
        assert (Path("served") / file["path"]).read_text() == file["text"]
    model.act("code", {"do": "save", "path": "served"})
    assert "already exists" in screen["code", "message"]
    with zipfile.ZipFile(io.BytesIO(screen["code", "download"])) as packed:
        assert packed.testzip() is None
        assert packed.namelist() == paths(screen)
        assert packed.infolist()[0].external_attr >> 16 == 0o644


def test_what_is_done_otherwise_is_shown_beside_the_code(shown: Ready) -> None:
    model, screen = shown
    assert screen["code", "notes"] == []
    model.receive("code", "target", "torchvision")
    made = export(model.graph, "torchvision", model.catalog)
    assert screen["code", "notes"] == list(made.notes) != []
    break_it(model)
    assert screen["code", "notes"] == []


def test_the_usage_line_names_the_file_that_is_saved_or_downloaded(shown: Ready) -> None:
    model, screen = shown
    model.act("code", {"do": "save", "path": "train"})
    assert "Usage: python train.py --data" in Path("train.py").read_text()
    model.act("code", {"do": "download", "file": "kept.py"})
    assert "Usage: python kept.py --data" in screen["code", "script"]["text"]


def test_the_bar_exports_to_every_target(shown: Ready) -> None:
    model, screen = shown
    names = [entry["name"] for entry in screen["bar", "targets"]]
    assert names == entry_names()
    for name in names:
        model.act("bar", {"do": "export", "target": name})
        assert (screen["tabs", "tab"], screen["code", "target"]) == ("code", name)
        assert screen["bar", "target"] == name
    model.act("bar", {"do": "export", "target": "pytroch"})
    assert "pytorch" in screen["bar", "message"]
    assert screen["code", "target"] == names[-1]


def test_a_name_under_which_the_code_could_not_run_is_refused(shown: Ready) -> None:
    model, screen = shown
    for target, name, words in (
        ("pytorch", "torch", "hides the module 'torch'"),
        ("notebook", "train.py", "Name it train.ipynb"),
    ):
        model.receive("code", "target", target)
        model.act("code", {"do": "save", "path": name})
        assert words in screen["code", "message"]
    assert not list(Path().iterdir())


def test_the_same_files_make_the_same_archive() -> None:
    first, second = (zip_archive(export(load_recipe("simclr"), "triton")) for _ in range(2))
    assert first == second


def test_the_list_of_usable_files_is_written_and_the_check_reported(
    make: Make, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "some" / "c"
    folder.mkdir(parents=True)
    shutil.copy(next(photos.rglob("*.jpg")), folder / "good.jpg")
    (folder / "bad.jpg").write_text("words")
    roots = Roots((str(tmp_path),))
    model, screen = make(folder.parent, roots=roots, connected=False)
    write = {"do": "save_file_list", "path": "good.txt", "overwrite": False}
    model.act("code", write)
    assert "Check them in the Data panel" in screen["code", "message"]
    model.act("data", {"do": "report"})
    assert "Check the files first" in screen["bar", "message"]
    model.act("data", {"do": "check"})
    screen.wait(lambda s: s["data", "summary"]["checked"], "the check")
    assert screen["code", "lists_files"]
    model.act("code", write)
    assert screen["code", "message"].endswith("good.txt with 1 of 2 files")
    assert (tmp_path / "good.txt").read_text() == f"{folder / 'good.jpg'} 0\n"
    (tmp_path / "good.txt").write_text("another")
    model.act("code", write)
    asked = screen["code", "overwrite"]
    assert (asked["do"], asked["path"]) == ("save_file_list", "good.txt")
    model.act("code", {**write, "overwrite": True})
    assert (tmp_path / "good.txt").read_text() != "another"
    model.act("code", {**write, "path": str(tmp_path.parent / "good.txt")})
    assert "Saved" not in screen["code", "message"]
    model.act("data", {"do": "report"})
    screen.wait(lambda s: s["data", "report"]["number"], "the report")
    assert "bad.jpg" in screen["data", "report"]["text"]


def test_a_program_that_skips_bad_files_is_saved_with_its_list(
    make: Make, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "some" / "c"
    folder.mkdir(parents=True)
    shutil.copy(next(photos.rglob("*.jpg")), folder / "good.jpg")
    (folder / "bad.jpg").write_text("words")
    model, screen = make(folder.parent, roots=Roots((str(tmp_path),)), connected=False)
    model.receive("code", "in_view", True)
    model.receive("code", "skip_bad", True)
    assert "The files were not checked" in screen["code", "fault"]["message"]
    model.receive("code", "target", "proxy")
    assert "'Skip bad files'" in screen["code", "fault"]["message"]
    model.receive("code", "target", "script")
    model.act("data", {"do": "check"})
    screen.wait(lambda s: s["data", "summary"]["checked"], "the check")
    screen.wait(lambda s: not s["code", "fault"]["message"], "the code")
    assert "file_list=GOOD_DATA" in screen["code", "files"][0]["text"]
    assert not screen["code", "note"]
    save = {"do": "save", "path": "pipe.py", "overwrite": False}
    (tmp_path / "pipe.good_data.txt").write_text("another")
    model.act("code", save)
    assert "pipe.good_data.txt already exists" in screen["code", "overwrite"]["message"]
    assert not (tmp_path / "pipe.py").exists()
    model.act("code", {**save, "overwrite": True})
    assert screen["code", "message"].endswith("pipe.py and pipe.good_data.txt")
    assert (tmp_path / "pipe.good_data.txt").read_text() == f"{folder / 'good.jpg'} 0\n"
    saved = (tmp_path / "pipe.py").read_text()
    assert saved.startswith(screen["code", "files"][0]["text"].rstrip())
    model.act("code", {"do": "download", "file": "kept.py"})
    assert "reads a list of good files" in screen["code", "message"]
    assert screen["code", "script"]["text"] == ""
    model.receive("code", "target", "notebook")
    screen.wait(lambda s: s["code", "files"][0]["path"] == "pipeline.ipynb", "the notebook")
    model.act("code", {"do": "save", "path": "book", "overwrite": False})
    assert screen["code", "message"].endswith("book.ipynb and book.good_data.txt")
    assert '\\"book.good_data.txt\\"' in (tmp_path / "book.ipynb").read_text()
    assert "matches this code" in wb.from_file(tmp_path / "book.ipynb").report.notes[0]
    model.receive("code", "target", "script")
    model.receive("code", "skip_bad", False)
    assert "GOOD_DATA" not in screen["code", "files"][0]["text"]
    assert "Export with 'Skip bad files'" in screen["code", "note"]


def test_what_was_said_of_a_file_ends_with_the_graph_and_target_it_was_said_of(
    shown: Ready, tmp_path: Path
) -> None:
    model, screen = shown

    def save(name: str) -> str:
        model.act("code", {"do": "save", "path": name})
        return str(screen["code", "message"])

    assert save("one.py").startswith("Saved")
    model.receive("code", "target", "pytorch")
    assert screen["code", "message"] == ""

    assert save("two.py").startswith("Saved")
    model.receive("preview", "mode", "original")  # the code is the same
    assert screen["code", "message"].startswith("Saved")
    model.act("bar", {"do": "recipe", "name": "imagenet-eval"})
    assert screen["code", "message"] == ""

    assert save("three.py").startswith("Saved")
    model.act("data", {"do": "open", "path": str(tmp_path)})
    assert screen["code", "message"] == ""


@pytest.mark.parametrize("component", ["bar", "code"])
def test_a_file_is_not_overwritten_with_a_graph_that_was_opened_since_the_question(
    shown: Ready, tmp_path: Path, component: str
) -> None:
    model, screen = shown
    (tmp_path / "mine.py").write_text("mine")
    model.act(component, {"do": "save", "path": "mine.py"})
    assert screen[component, "overwrite"]["path"] == "mine.py"
    model.act("bar", {"do": "recipe", "name": "imagenet-eval"})
    assert screen[component, "overwrite"]["path"] == ""
    model.act("canvas", {"do": "undo"})
    model.act(component, {"do": "save", "path": "mine.py"})
    assert screen[component, "overwrite"]["path"] == "mine.py"  # asked again


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    (folder / "a").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (folder / "out").symlink_to(tmp_path / "outside")
    (folder / "out.py").symlink_to(tmp_path / "outside" / "new.py")
    (folder / ".hidden").mkdir()
    monkeypatch.chdir(folder)
    return folder


def everything(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def test_a_notebook_writes_where_it_may(work: Path) -> None:
    assert OutputPath("out/pipe", ".py", None).write(b"x") == work / "out" / "pipe.py"
    assert OutputPath("~/x.py", ".py", None).path == Path("~/x.py").expanduser()


@pytest.mark.parametrize(
    "name", ["pipe.py", "pipe", "my pipe-2.py", "größe.py", "a/b", "pipe.py\n"]
)
def test_the_web_app_writes_below_its_roots(work: Path, name: str) -> None:
    written = OutputPath(name, ".py", Roots.of([work])).write(b"x")
    assert written.is_relative_to(work)
    assert written.suffix == ".py"
    assert written.read_bytes() == b"x"


def test_outside_the_working_folder_plain_names_are_saved_in_the_first_root(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots = Roots.of([work / "a", work])
    assert roots.save_folder() == work
    monkeypatch.chdir(work.parent / "outside")
    assert roots.save_folder() == work / "a"
    assert OutputPath("pipe", ".py", roots).write(b"x") == work / "a" / "pipe.py"
    assert OutputPath("new", "", roots).write_folder({"x": "x"}) == work / "a" / "new"
    assert OutputPath(str(work / "x.py"), ".py", roots).write(b"x") == work / "x.py"


@pytest.mark.parametrize(
    "name",
    [
        "../pipe.py", "/etc/pipe.py", "..", ".bashrc", ".hidden.py", "setup.cfg", "~root/x.py",
        "", "  ", "a\0.py", "pipe.json", "a\\..\\b.py", "x.py/..", ".hidden/x.py", "out/x.py",
        "out.py", "a/../../x.py", "/proc/self/cwd/../x.py", "nowhere/x.py",
    ],
)  # fmt: skip
@pytest.mark.parametrize("overwrite", [False, True])
def test_the_web_app_writes_nothing_else(work: Path, name: str, overwrite: bool) -> None:
    before = everything(work.parent)
    with pytest.raises(SaveError):
        OutputPath(name, ".py", Roots.of([work]), overwrite).write(b"x")
    assert everything(work.parent) == before


@pytest.mark.parametrize("confined", [False, True])
def test_a_file_that_is_there_is_overwritten_only_by_will(work: Path, confined: bool) -> None:
    roots = Roots.of([work]) if confined else None
    (work / "mine.py").write_bytes(b"old")
    (work / "mine.py").chmod(0o600)
    with pytest.raises(OverwriteError, match=r"mine\.py already exists"):
        OutputPath("mine.py", ".py", roots).write(b"new")
    assert (work / "mine.py").read_bytes() == b"old"
    OutputPath("mine.py", ".py", roots, overwrite=True).write(b"new")
    assert (work / "mine.py").read_bytes() == b"new"
    assert stat.S_IMODE((work / "mine.py").stat().st_mode) == 0o600


def test_a_file_that_comes_meanwhile_is_not_overwritten(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def come(descriptor: int) -> None:
        sync(descriptor)
        (work / "new.py").write_bytes(b"another's")

    monkeypatch.setattr(os, "fsync", come)
    with pytest.raises(OverwriteError):
        OutputPath("new.py", ".py", Roots.of([work])).write(b"mine")
    assert (work / "new.py").read_bytes() == b"another's"
    assert not list(work.glob(".workbench-*"))


def test_a_folder_is_written_whole_below_the_roots(work: Path) -> None:
    roots = Roots.of([work])
    files = {"config.txt": "a", "1/model.py": "b"}
    assert OutputPath("served", "", roots).write_folder(files) == work / "served"
    assert (work / "served" / "1" / "model.py").read_text() == "b"
    for name in ("served", "out", "out/served", "../served", "a/../../served"):
        before = everything(work.parent)
        with pytest.raises(SaveError, match=r"Cannot write to|was not written"):
            OutputPath(name, "", roots).write_folder(files)
        assert everything(work.parent) == before


def test_a_file_system_without_links_is_written_too(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    assert OutputPath("new.py", ".py", Roots.of([work])).write(b"x").read_bytes() == b"x"
    with pytest.raises(OverwriteError):
        OutputPath("new.py", ".py", Roots.of([work])).write(b"y")
    assert not list(work.glob(".workbench-*"))


def test_a_folder_that_cannot_be_written_is_named_as_the_user_did(work: Path) -> None:
    with pytest.raises(SaveError, match=rf"^{work}/served was not written"):
        OutputPath("served", "", Roots.of([work])).write_folder({"a" * 300: "x"})
    assert not list(work.glob(".workbench-*"))


def test_a_root_in_a_hidden_folder_is_a_root(work: Path) -> None:
    roots = Roots.of([work, work / ".hidden"])
    assert OutputPath(".hidden/new.py", ".py", roots).write(b"x").read_bytes() == b"x"
