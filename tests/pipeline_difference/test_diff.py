"""``diff``: what it accepts, the whole data set, models, and what it says."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import workbench as wb
from tests.pipeline_difference.planted import write_photos
from workbench.engine.resources.machine import describe_machine
from workbench.errors import ArgumentError, DataError
from workbench.graph.model import Graph
from workbench.pipeline_difference import PipelineDifference

Array = NDArray[Any]


@pytest.fixture(scope="module")
def small(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_photos(photos, tmp_path_factory.mktemp("small") / "photos", 9)


@pytest.fixture(scope="module")
def graph(small: Path) -> Graph:
    return wb.read(small).decode().resize(size=(32, 40))


@pytest.fixture(scope="module")
def without_antialias(graph: Graph, small: Path) -> PipelineDifference:
    return wb.diff(graph, graph["resize"].set(antialias=False), small)


def resized(image: Array) -> Array:
    return np.asarray(Image.fromarray(image).resize((40, 32), Image.Resampling.BILINEAR))


def test_a_graph_equals_itself(graph: Graph, small: Path) -> None:
    found = wb.diff(graph, graph, small)
    assert found.equal
    assert not found.causes
    assert not found.pictures
    assert "return the same pixels for 9 images" in repr(found)


def test_the_change_names_the_argument_and_the_side(without_antialias: PipelineDifference) -> None:
    (cause,) = without_antialias.causes
    assert (cause.kind, cause.side) == ("antialias", "A")
    assert cause.change == "fn.resize(antialias=False)"
    assert cause.alternative == "B: fn.resize(antialias=True)"
    assert cause.after == 0
    assert cause.share == 1
    assert without_antialias.rest == 0


def test_only_the_step_that_differs_has_a_share(without_antialias: PipelineDifference) -> None:
    assert {step.name: step.mean > 0 for step in without_antialias.steps} == {
        "decode": False,
        "resize": True,
    }


def test_the_document_has_the_worst_images_side_by_side(
    without_antialias: PipelineDifference,
) -> None:
    document = without_antialias.document()
    assert len(document.pictures) == 9
    worst = [mean for _, mean in without_antialias.worst]
    assert worst == sorted(worst, reverse=True)
    assert Image.open(io.BytesIO(document.pictures[0].data)).size == (3 * 40 + 2 * 4, 32)


def test_functions_of_bytes_arrays_and_pillow_images_are_accepted(
    graph: Graph, small: Path
) -> None:
    def of_bytes(data: bytes) -> Array:
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB").resize((40, 32), 2))

    def of_pillow(image: Image.Image) -> Array:
        return np.asarray(image.resize((40, 32), Image.Resampling.BILINEAR))

    for function, words in (
        (of_bytes, "encoded bytes"),
        (resized, "arrays"),
        (of_pillow, "Pillow images"),
    ):
        found = wb.diff(function, resized, small)
        assert found.equal, found
        assert words in repr(found)


def test_a_composition_with_a_class_of_the_user_runs_as_one_step(small: Path) -> None:
    torch = pytest.importorskip("torch")

    class Shrink(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, image: Image.Image) -> Image.Image:
            return image.resize((40, 32), Image.Resampling.BILINEAR)

    found = wb.diff(torch.nn.Sequential(Shrink()), resized, small)
    assert found.equal, found
    assert "runs as one step, because diff cannot run Shrink alone" in repr(found)


def test_a_list_of_functions_has_steps(graph: Graph, small: Path) -> None:
    def flip(image: Array) -> Array:
        return image[:, ::-1]

    found = wb.diff([resized, flip], graph.flip(vertical=1, horizontal=0), small)
    assert [step.name for step in found.steps if step.mean > 1] == ["decode", "flip"]


SCRIPT = """
import io
import numpy as np
from PIL import Image

def small(data: bytes):
    print("this is no answer")
    image = Image.open(io.BytesIO(data)).convert("RGB").resize((40, 32), Image.BILINEAR)
    return np.asarray(image)

def random(data: bytes):
    return small(data) + np.random.randint(0, 9, (32, 40, 1), np.uint8)

def nothing(data: bytes):
    return None

def failing(data: bytes):
    if len(data) % 2:
        raise ValueError("odd file")
    return small(data)
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("script") / "evaluate.py"
    path.write_text(SCRIPT)
    return path


def test_a_function_of_a_file_runs_in_another_interpreter(script: Path, small: Path) -> None:
    def of_bytes(data: bytes) -> Array:
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB").resize((40, 32), 2))

    assert wb.diff(of_bytes, f"{script}:small", small).equal
    assert wb.diff(of_bytes, f"{script}:small", small, python_b=sys.executable).equal


def test_a_graph_runs_as_a_program_in_another_interpreter(graph: Graph, small: Path) -> None:
    assert wb.diff(graph, graph, small, python_b=sys.executable).equal


def test_an_image_that_a_function_rejects_is_counted(script: Path, small: Path) -> None:
    found = wb.diff(f"{script}:small", f"{script}:failing", small)
    odd = sum(path.stat().st_size % 2 for path in small.iterdir())
    assert len(found.failed) == odd
    assert found.images == 9 - odd
    assert "odd file" in repr(found)


def test_damaged_files_are_skipped_and_alpha_is_a_cause(graph: Graph, tmp_path: Path) -> None:
    def white(data: bytes) -> Array:
        image = Image.open(io.BytesIO(data)).convert("RGBA")
        behind = Image.new("RGBA", image.size, "white")
        return resized(np.asarray(Image.alpha_composite(behind, image).convert("RGB")))

    pixels = np.random.default_rng(0).integers(0, 256, (60, 70, 4), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "alpha.png")
    Image.fromarray(pixels[..., 0]).save(tmp_path / "grey.png")
    (tmp_path / "bad.png").write_bytes(b"no image")
    found = wb.diff(graph, white, tmp_path)
    assert [file for file, _ in found.failed] == ["bad.png"]
    assert [cause.kind for cause in found.causes] == ["alpha"]


def test_images_in_memory_are_compared(graph: Graph, small: Path) -> None:
    images = [np.asarray(Image.open(path).convert("RGB")) for path in sorted(small.iterdir())[:3]]
    assert wb.diff(graph, graph, images).images == 3


def test_a_function_that_ignores_the_image_has_no_causes(graph: Graph, small: Path) -> None:
    def zeros(image: Array) -> Array:
        return np.zeros((3, 32, 40), np.float32)

    floats = graph.crop_mirror_normalize(mean=(128.0,), std=(64.0,))
    found = wb.diff(floats, zeros, small)
    assert not found.causes
    assert "B (zeros) returns the value 0 for all pixels, so it does not depend" in repr(found)
    assert "both are equal" not in repr(found)
    assert not wb.diff(floats, zeros, small, samples=1).causes


def test_a_function_that_returns_nothing_is_named(script: Path, small: Path) -> None:
    with pytest.raises(
        ArgumentError, match=r"image \(with [^:;]+: TypeError: the result is None, not an image\)\."
    ):
        wb.diff(f"{script}:small", f"{script}:nothing", small)


def test_all_causes_and_the_number_of_omitted_files_are_in_the_text(
    without_antialias: PipelineDifference,
) -> None:
    (cause,) = without_antialias.causes
    one = replace(cause, alternative="")
    files = tuple((f"{n}.png", "bad") for n in range(5))
    found = replace(without_antialias, causes=(one, replace(one, kind="flip")), failed=files)
    text = repr(found)
    assert "Cause: antialias; change" in text
    assert "Cause: flip; change" in text
    assert "2.png: bad; and 2 more)" in text
    assert "or" not in found.document().tables[0].columns


def test_a_random_function_is_refused(script: Path, small: Path) -> None:
    with pytest.raises(ArgumentError, match="random"):
        wb.diff(f"{script}:small", f"{script}:random", small)


def test_random_values_of_graphs_are_fixed(graph: Graph, small: Path) -> None:
    turned = graph.flip(horizontal=wb.random.coin_flip(probability=0.5))
    found = wb.diff(turned.with_settings(device="mixed"), graph.flip(horizontal=1), small)
    cpu_only = bool(describe_machine().no_gpu)
    assert not found.differ
    assert not found.equal
    fixed = "the same for 9 images with fixed random values, but mixed decoding of A was not"
    assert (fixed in repr(found)) is cpu_only
    assert ("not as mixed decoding does" in repr(found)) is cpu_only
    assert "flip.horizontal=1" in repr(found)
    for random in (graph.noise.gaussian(stddev=9.0), "auto-augment"):
        with pytest.raises(ArgumentError, match="cannot be fixed"):
            wb.diff(random, graph, small)


def test_graphs_are_equal_if_their_random_arguments_are(graph: Graph, small: Path) -> None:
    a, b = (graph.rotate(angle=wb.random.uniform(range=(low, 10.0))) for low in (-10.0, -20.0))
    same, other = wb.diff(a, a, small, 2), wb.diff(a, b, small, 2)
    assert same.equal
    assert "for 2 images with fixed random values; the random arguments are equal." in repr(same)
    assert (other.equal, other.differ) == (False, False)
    assert (
        "for 2 images with fixed random values; ranges and probabilities were not compared. The "
        "graphs differ in angle.range ([-10.0, 10.0] and [-20.0, 10.0])." in repr(other)
    )


def test_the_arguments_in_which_graphs_differ_are_listed(graph: Graph, small: Path) -> None:
    a, b = (graph.rotate(angle=angle, keep_size=True) for angle in (3.0, 4.0))
    text = " ".join(wb.diff(a, b, small, 2).document().sentences)
    assert "The graphs differ in rotate.angle (3.0 and 4.0). No other change of" in text
    assert "The graphs differ in rotate (only in B)." in repr(wb.diff(graph, b, small, 2))


def test_only_the_images_that_differ_are_counted(small: Path) -> None:
    def dark(image: Array) -> Array:
        return np.asarray(resized(image) // (1 + (image.shape[0] % 2)), np.uint8)

    odd = sum(Image.open(path).height % 2 for path in small.iterdir())
    found = wb.diff(resized, dark, small)
    assert found.different == odd > 0
    assert f"differ for {odd} of 9 images: " in repr(found)
    assert "of 255 on average of all images" in repr(found)


def test_outputs_that_are_not_finite_are_counted(small: Path) -> None:
    def floats(image: Array) -> Array:
        return resized(image).astype(np.float32)

    def missing(image: Array) -> Array:
        return floats(image) * (np.nan if image.shape[0] % 2 else 1)

    found = wb.diff(floats, missing, small)
    odd = sum(Image.open(path).height % 2 for path in small.iterdir())
    assert found.differ
    assert found.mean == 0
    text = f"differ for {odd} of 9 images. B returns NaN or infinite values for {odd} of 9 images"
    assert text in repr(found)
    assert wb.diff(missing, missing, small).equal


@pytest.mark.parametrize(
    "recipe",
    [
        "simclr",
        *(pytest.param(n, marks=pytest.mark.thorough) for n in ("dino", "cutout", "chest-xray")),
        pytest.param("key-points", marks=pytest.mark.thorough),
    ],
)
def test_a_recipe_with_blocks_or_random_vectors_equals_itself(recipe: str, small: Path) -> None:
    assert wb.diff(recipe, recipe, small, 2).equal


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photos of scikit-learn's digits, enlarged."""
    datasets = pytest.importorskip("sklearn.datasets")
    folder = tmp_path_factory.mktemp("digits") / "photos"
    folder.mkdir()
    for number, image in enumerate(datasets.load_digits().images[:60]):
        pixels = Image.fromarray((image * 15.9).astype(np.uint8)).convert("RGB")
        pixels.resize((23, 23), Image.Resampling.BICUBIC).save(folder / f"{number:03}.png")
    return folder


@pytest.fixture(scope="module")
def model() -> Callable[[Array], Array]:
    """Nearest class mean of the digits, as logits."""
    datasets = pytest.importorskip("sklearn.datasets")
    data, target = datasets.load_digits(return_X_y=True)
    means = np.stack([data[target == digit].mean(axis=0) for digit in range(10)])

    def predict(batch: Array) -> Array:
        values = batch[..., 0].reshape(len(batch), 64) / 15.9
        distances: Array = np.square(values[:, None] - means[None]).sum(axis=2)
        return -distances

    return predict


def test_changed_predictions_of_a_model_are_those_counted(
    digits: Path, model: Callable[[Array], Array]
) -> None:
    a = wb.read(digits).decode().resize(size=(8, 8))
    b = a.rotate(angle=15.0, keep_size=True)
    found = wb.diff(a, b, digits, model=model)
    pairs = {path.name: (a(path), b(path)) for path in sorted(digits.iterdir())}
    logits = {name: [model(np.asarray(x)[None])[0] for x in two] for name, two in pairs.items()}
    counted = [name for name, (x, y) in logits.items() if x.argmax() != y.argmax()]
    assert found.model is not None
    assert counted
    assert [*found.model.files] == counted
    largest = max(np.abs(x - y).max() for x, y in logits.values())
    assert found.model.largest == pytest.approx(largest)
    assert f"another class for {len(counted)} of 60 images" in repr(found)


def test_a_model_that_returns_nan_or_fails_is_reported(graph: Graph, small: Path) -> None:
    def nan(batch: Array) -> Array:
        return np.full((len(batch), 2), np.nan)

    def failing(batch: Array) -> Array:
        raise RuntimeError("no weights")

    found = wb.diff(graph, graph, small, model=nan)
    assert found.model is not None
    assert len(found.model.nan) == 9
    assert found.model.changed == 0
    assert "The model returned NaN for 9 of 9 images, such as 000.jpg; they are not" in repr(found)
    assert "another class" not in repr(found)
    assert "no weights" in repr(wb.diff(graph, graph, small, model=failing))


def test_different_sizes_are_reported(graph: Graph, small: Path) -> None:
    found = wb.diff(graph, graph["resize"].set(size=(30, 40)), small, samples=3)
    assert found.sizes == found.images == 3
    assert "(32, 40, 3) and (30, 40, 3)" in found.shapes
    assert np.mean([mean for _, mean in found.worst]) == pytest.approx(found.mean)
    assert "Limited to the first 3 of 9 images" in repr(found)


def test_an_interrupted_run_keeps_what_was_measured(graph: Graph, photos: Path) -> None:
    def interrupt(share: float, text: str) -> None:
        if text.startswith("image 17"):
            raise KeyboardInterrupt

    run: Callable[..., PipelineDifference] = wb.diff
    found = run(graph, graph, photos, samples=40, on_progress=interrupt)
    assert found.images == 16
    assert "Interrupted after 16 of 40 images" in repr(found)
    assert "same for 16 images, but not all images were compared" in repr(found)
    assert not found.equal
    assert not found.differ


@pytest.mark.parametrize(
    ("what", "words"),
    [(3, "has type 'int'"), (lambda data: "text", "returns no image"), ("missing.py:f", "no file")],
)
def test_what_is_no_pipeline_is_refused(what: Any, words: str, graph: Graph, small: Path) -> None:
    with pytest.raises(ArgumentError, match=words):
        wb.diff(graph, what, small)


def test_an_empty_folder_is_refused(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(DataError):
        wb.diff(graph, graph, tmp_path)


@pytest.mark.gpu
def test_mixed_decoding_is_compared_on_a_gpu(graph: Graph, small: Path) -> None:
    found = wb.diff(graph.with_settings(device="mixed"), graph, small)
    assert "images are decoded on the GPU (mixed decoding)" in repr(found)
    assert [step.name for step in found.steps if step.mean > 0.02][:1] == ["decode"]
    assert found.mean < 3


@pytest.mark.gpu
def test_causes_between_torchvision_and_its_import(photos: Path) -> None:
    """With torchvision itself: its size and crop position round differently from DALI's."""
    transforms = pytest.importorskip("torchvision.transforms")
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    steps = [transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor()]
    composed = transforms.Compose([*steps, transforms.Normalize(mean, std)])
    found = wb.diff(composed, wb.from_torchvision(composed).graph, photos, samples=40)
    assert [cause.kind for cause in found.causes] == ["crop position", "size rounding"]
    assert found.rest < 0.3


@pytest.mark.gpu
def test_the_antialias_of_torchvision_on_tensors_is_a_cause(photos: Path) -> None:
    v2 = pytest.importorskip("torchvision.transforms.v2")
    aliased = v2.Compose([v2.ToImage(), v2.Resize((64, 64), antialias=False)])
    graph = wb.read(photos).decode().resize(size=(64, 64)).transpose(perm=(2, 0, 1))
    found = wb.diff(aliased, graph, photos, samples=20)
    assert [cause.kind for cause in found.causes] == ["antialias"]


@pytest.mark.gpu
def test_compositions_of_torchvision_v2_equal_themselves(small: Path) -> None:
    v2, torch = map(pytest.importorskip, ("torchvision.transforms.v2", "torch"))
    floats = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5], [0.2])]
    for steps in (
        [v2.Resize(72), v2.CenterCrop(64), *floats],
        [v2.RandomResizedCrop(64), v2.ColorJitter(0.4, 0.4, 0.4, 0.1), v2.PILToTensor()],
        [v2.PILToTensor(), v2.Resize((72, 72)), v2.Pad(4), v2.GaussianBlur(3)],
        [v2.Grayscale(3), v2.RandomRotation(10)],
    ):
        found = wb.diff(v2.Compose(steps), v2.Compose(steps), small, samples=3)
        assert found.equal


@pytest.mark.gpu
def test_the_hue_of_torchvision_is_a_cause(photos: Path) -> None:
    transforms = pytest.importorskip("torchvision.transforms")
    hue = transforms.ColorJitter(hue=(0.1, 0.1))
    composed = transforms.Compose([transforms.Resize((64, 64)), hue, transforms.PILToTensor()])
    found = wb.diff(composed, wb.from_torchvision(composed).graph, photos, samples=20)
    assert found.causes[0].kind == "hue"
