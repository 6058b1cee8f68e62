"""A plain value that a script makes of something unknown is reported if the pipeline uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb

HEAD = """
import os
import not_installed_here as lib
from nvidia.dali import fn, pipeline_def
"""


def script(body: str = "", top: str = "", root: str = "'photos'", parameters: str = "") -> str:
    return f"""{HEAD}
{top}
@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=1)
def pipe({parameters}):
    jpegs, labels = fn.readers.file(file_root={root}, name="Reader")
    images = fn.decoders.image(jpegs)
    {body}
    return images, labels
"""


def turned(condition: str) -> str:
    return script(f"if {condition}:\n        images = fn.rotate(images, angle=10.0)")


ANGLES = "for angle in ANGLES:\n        images = fn.rotate(images, angle=angle)"
SIDE = "images = fn.resize(images, size=[SIDE, SIDE])"
ENOUGH = {
    "a text with a part of a missing module": script(root="f'{lib.root}/train'"),
    "a path joined to a setting": script(
        root="os.path.join(args.where, 'train')", parameters="args"
    ),
    "a condition at the top": script(SIDE, "SIDE = 64\nif lib.big > 3:\n    SIDE = 128"),
    "an identity": turned("lib.kind is not None"),
    "a type": turned("isinstance(lib.kind, int)"),
    "a key": turned("{'a': True}.get(lib.kind)"),
    "a comparison of a text": turned("f'{lib.kind}-x' == 'a-x'"),
    "a default argument": turned("turn").replace("pipe()", "pipe(turn=bool(lib.TURN))"),
    "a statement that fails": script(ANGLES, "ANGLES = []\nANGLES.append(os.environ['NO_SUCH'])"),
    "an assignment that fails": script(SIDE, "SIDE = 64\nSIDE = int(os.environ['NO_SUCH'])"),
}
MORE = {
    "a value of a missing module itself": script(root="lib.root"),
    "a sum of texts": script(root="lib.root + '/train'"),
    "a formatted text": script(root="'{}/train'.format(lib.root)"),
    "an old format": script(root="'%s/train' % lib.root"),
    "a text at the top": script(root="ROOT", top="ROOT = f'{lib.root}/train'"),
    "a text as a default argument": script(root="root", parameters="root=f'{lib.root}/train'"),
    "a required option": script(
        root="f'{args.where}/train'",
        top="import argparse\np = argparse.ArgumentParser()\np.add_argument('--where', "
        "required=True)\nargs = p.parse_args()",
    ),
    "a choice at the top": script(SIDE, "SIDE = 224 if lib.big else 128"),
    "a function that is called at the top": script(
        SIDE, "def side():\n    return 224 if lib.big else 128\nSIDE = side()"
    ),
    "a loop at the top": script(ANGLES, "ANGLES = [10.0 for _ in lib.angles]"),
    "a loop": script(ANGLES.replace("ANGLES", "lib.angles").replace("=angle)", "=10.0)")),
    "a set": turned("lib.kind in {'a', 'b'}"),
    "an attribute that may exist": turned("not hasattr(lib, 'PLAIN')"),
    "a beginning of a text": turned("str(lib.kind).startswith('a')"),
    "a length": script("images = fn.resize(images, size=[64 + len(lib.classes), 64])"),
    "a condition that fails": script(SIDE, "SIDE = 64\nif os.environ['NO_SUCH']:\n    SIDE = 128"),
    "a loop that fails": script(
        ANGLES, "ANGLES = []\nfor name in os.listdir('nowhere'):\n    ANGLES.append(20.0)"
    ),
    "an attribute whose assignment fails": script(
        SIDE.replace("SIDE", "C.side"),
        "class C:\n    side = 8\nC.side = int(os.environ['NO_SUCH'])",
    ),
    "a pipeline made at the top": turned("lib.turn") + "made = pipe()\nmade.build()\nmade.run()\n",
}  # fmt: skip


def imported(text: str, folder: Path) -> wb.ImportedGraph:
    (folder / "photos").mkdir()
    (folder / "train.py").write_text(text)
    return wb.from_file(folder / "train.py")


def assert_reported(found: wb.ImportedGraph) -> None:
    assert not found.report.is_exact, found.report
    assert all(entry.place.startswith("train.py:") for entry in found.report.entries)
    assert next(found.report.lines()).startswith("partly: ")


@pytest.mark.parametrize("text", ENOUGH.values(), ids=ENOUGH)
def test_an_unknown_value_that_reaches_the_pipeline_is_reported(text: str, tmp_path: Path) -> None:
    assert_reported(imported(text, tmp_path))


@pytest.mark.thorough
@pytest.mark.parametrize("text", MORE.values(), ids=MORE)
def test_siblings_are_reported(text: str, tmp_path: Path) -> None:
    assert_reported(imported(text, tmp_path))


def test_an_unknown_truth_value_counts_as_false_and_is_reported(tmp_path: Path) -> None:
    found = imported(turned("lib.TURN"), tmp_path)
    assert_reported(found)
    assert "not_installed_here.TURN is unknown and treated as false" in str(found.report)
    assert not found.graph.has("rotate")


def test_an_unknown_text_names_its_node_and_is_no_folder(tmp_path: Path) -> None:
    found = imported(script(root="f'{lib.root}/train'"), tmp_path)
    (entry,) = found.report.changed
    assert entry.node == "Reader"
    assert "is computed from not_installed_here.root" in entry.why
    assert not found.data


def test_what_the_pipeline_does_not_use_leaves_it_exact(tmp_path: Path) -> None:
    top = "FAST = 1 if lib.cuda else 2\nLOG = f'{lib.name}'\nFAST = int(os.environ['NO_SUCH'])"
    found = imported(script("print(f'reads {lib.root}')", top), tmp_path)
    assert found.report.is_exact, found.report


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ("images = args.data(images)", "--arg args.data=..."),
        ("images = fn.rotate(images, angle=args['size'] - [3])", "--arg args.size=..."),
        ("images = fn.resize(images, size=args.sides)", "--arg args.sides=..."),
        ("images = fn.resize(images, size=[args.side.x, 8])", "--arg args.side.x=..."),
        ("images = fn.resize(images, size=8, antialias=args.smooth)", "--arg args.smooth=..."),
        ("images = images + args.shift", "--arg args.shift=..."),
        ("images = fn.resize(images, size=8, interp_type=lib.KIND)", "Install not_installed_here"),
        ("images = fn.rotate(images, angle=lib.ANGLE)", "Install not_installed_here"),
        ("images = fn.cast_like(images, lib.image())", "Install not_installed_here"),
    ],
)
def test_dali_gets_no_value_of_a_stand_in(use: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(wb.ImportFailedError, match=r"train\.py.* is unknown") as raised:
        imported(script(use, parameters="args"), tmp_path)
    assert said in str(raised.value)


def test_a_constant_of_a_stand_in_names_what_is_missing(tmp_path: Path) -> None:
    top = "from nvidia.dali import types\nSHIFT = lib.load('shift.npy')"
    text = script("images = images + types.Constant(value=SHIFT, device='cpu')", top)
    with pytest.raises(
        wb.ImportFailedError, match=r"in this line is unknown: .*not_installed_here"
    ):
        imported(text, tmp_path)


@pytest.mark.parametrize("name", ["batch_size", "num_threads", "device_id", "seed"])
def test_a_pipeline_gets_no_setting_of_a_stand_in(name: str, tmp_path: Path) -> None:
    text = script().replace("device_id=None, seed=1", "").replace("batch_size=4, ", "")
    text = text.replace("num_threads=2, ", f"{name}=lib.value, ")
    with pytest.raises(wb.ImportFailedError, match=r"lib\.value|not_installed_here\.value"):
        imported(text, tmp_path)


@pytest.mark.parametrize(("name", "value"), [("device_id", "2"), ("exec_async", "False")])
def test_settings_are_reported_with_their_line(name: str, value: str, tmp_path: Path) -> None:
    usual = "" if name == "device_id" else "device_id=None, "
    text = script().replace("device_id=None", f"{usual}{name}={value}")
    (entry,) = imported(text, tmp_path).report.entries
    line = next(n for n, each in enumerate(text.splitlines(), 1) if "batch_size" in each)
    assert entry.place == f"train.py:{line}"
    assert name in entry.why


CENTRE = "train = T.Compose([T.CenterCrop((SIDE, SIDE)), T.ToTensor()])"
FLIP = "steps.append(T.RandomVerticalFlip())"
COMPOSITIONS = {
    "a condition": f"if lib.strong:\n    {FLIP}",
    "a loop": f"for kind in lib.kinds:\n    {FLIP}",
    "an identity": f"if lib.strong is None:\n    {FLIP}",
    "an identity in a function": f"def add():\n    if lib.x is not None:\n        {FLIP}\nadd()",
    "an attribute that may exist": f"if not hasattr(lib, 'PLAIN'):\n    {FLIP}",
    "a type": f"if isinstance(lib.kind, str):\n    {FLIP}",
    "a text": f"kind = f'{{lib.kind}}-x'\nif kind == 'strong-x':\n    {FLIP}",
    "a missing module": "try:\n    import missing_too\n    steps = []\n"
    "except ImportError:\n    pass",
    "a change after the composition": "train = T.Compose(steps)\n"
    "if lib.strong is None:\n    train.transforms.append(T.ToTensor())\nsteps = train.transforms",
}


def composition(text: str, folder: Path) -> wb.ImportedGraph:
    head = "import not_installed_here as lib\nfrom torchvision import transforms as T\n"
    (folder / "train.py").write_text(head + text)
    return wb.from_file(folder / "train.py", "train")


USUAL = ("an identity", "a text", "a missing module")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, id=name, marks=[] if name in USUAL else pytest.mark.thorough)
        for name, text in COMPOSITIONS.items()
    ],
)
def test_an_unknown_value_that_reaches_a_composition_is_reported(text: str, tmp_path: Path) -> None:
    steps = "steps = [T.RandomHorizontalFlip()]\n"
    found = composition(f"{steps}{text}\ntrain = T.Compose(steps)", tmp_path)
    assert_reported(found)


def test_a_size_whose_assignment_fails_is_reported_for_a_composition(tmp_path: Path) -> None:
    found = composition(
        f"import os\nSIDE = 64\nSIDE = int(os.environ['NO_SUCH'])\n{CENTRE}", tmp_path
    )
    (entry,) = (each for each in found.report.entries if "SIDE" in each.why)
    assert entry.place == "train.py:5"


def test_what_a_composition_does_not_use_leaves_it_exact(tmp_path: Path) -> None:
    unused = "FAST = 1 if lib.cuda else 2\nif lib.name is None:\n    LOG = f'{lib.name}'\n"
    known = "flip is not None and flip and isinstance(flip, T.RandomVerticalFlip)"
    own = f"flip = T.RandomVerticalFlip()\nif {known}:\n"
    text = f"{unused}{own}    train = T.Compose([flip, T.ToTensor()])"
    assert composition(text, tmp_path).report.is_exact


MISSING_MODULE = "try:\n    import missing_too\n    SIDE = 32\nexcept ImportError:\n    SIDE = 64\n"


def test_a_value_that_depends_on_a_missing_module_is_reported(tmp_path: Path) -> None:
    found = imported(script(SIDE, MISSING_MODULE), tmp_path)
    assert_reported(found)
    assert "missing_too is not installed here" in found.report.changed[0].why


def test_a_missing_module_that_the_pipeline_does_not_use_is_none(tmp_path: Path) -> None:
    assert imported(script(top=MISSING_MODULE), tmp_path).report.is_exact


STOPPED = """
p = pipe()
p.build()
p.run()
{below}
@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=1)
def second():
    jpegs, labels = fn.readers.file(file_root="photos", name="Reader")
    return fn.resize(fn.decoders.image(jpegs), size=side()), labels
q = second()
"""


@pytest.mark.parametrize(
    ("below", "place"),
    [
        ("SIDE = 8", "train.py:21"),
        ("SIZES.append(8)", "train.py:21"),
        ("def side():\n    return 8", "train.py:21"),
        ("for SIDE in (8, 9):\n    pass", "train.py:21"),
        ("OTHER = 8", ""),
    ],
)
def test_a_name_set_again_below_the_stop_is_reported(
    below: str, place: str, tmp_path: Path
) -> None:
    top = "SIDE = 64\nSIZES = [SIDE]\ndef side():\n    return [SIDE, SIZES[0]]\nOTHER = 1"
    text = script(top=top) + STOPPED.format(below=below)
    (tmp_path / "train.py").write_text(text)
    report = wb.from_file(tmp_path / "train.py", "second").report
    assert [entry.place for entry in report.changed] == [place] * bool(place)
    assert wb.from_file(tmp_path / "train.py", "pipe").report.is_exact
