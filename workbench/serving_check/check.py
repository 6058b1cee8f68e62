#!/usr/bin/env python3
"""Compare the preprocessing of a server with the tensors of this pack.

    python check.py my_server.py:predict_input
    python check.py --triton localhost:8000 --model NAME

The function receives the bytes of an image file and returns the array that the model receives. Each
array is equal, within the tolerance (correct decoders differ slightly), or different. The mistakes
that explain a difference are named. Needs Python 3.9 and NumPy, but neither DALI nor the workbench.
Exit codes: 0 no difference, 1 differences, 2 invalid arguments or a damaged pack.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import importlib
import importlib.util
import json
import struct
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FORMAT, VERSION = "workbench serving pack", 1
MOST_MISTAKES = 3
"""Maximum number of mistakes that a candidate combines."""
_SAMPLES = 1500
"""Number of random pixels per image on which candidates are compared."""
_FLAT = 4.0
"""Minimum standard deviation, in levels, of an image that is used to find a mistake."""
_SHIFTED, _NAMED, _SECONDS = "shifted", 7, 60
_IMAGENET = (np.array([123.675, 116.28, 103.53]), np.array([58.395, 57.12, 57.375]))
Array = Any
Function = Callable[[bytes], Any]


class PackError(Exception):
    """Raised for an unusable pack or an invalid argument."""


class Verdict(NamedTuple):
    """Result for one image. ``state`` is equal, within tolerance, different, or refused."""

    name: str
    about: str
    state: str
    mistakes: tuple[str, ...] = ()
    detail: str = ""


class Candidate(NamedTuple):
    """A combination of mistakes that may explain how a server prepares all of the images."""

    spatial: str = ""
    channels: str = ""
    form: str = ""
    variant: str = ""
    scaling: tuple[tuple[float, float], ...] = ()
    """Fitted slope and offset of each channel; empty if ``form`` defines them."""

    @property
    def mistakes(self) -> tuple[str, ...]:
        spatial = self.spatial.split(" ")[0]
        return tuple(filter(None, (self.variant, spatial, self.channels and "bgr", self.form)))


class Pack:
    """The manifest, images and tensors of a pack. Raises PackError if files are damaged."""

    def __init__(self, folder: Any) -> None:
        self.folder = Path(folder)
        try:
            self.manifest = json.loads((self.folder / "manifest.json").read_text("utf-8"))
            found = (self.manifest["format"], self.manifest["version"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise PackError(
                f"{self.folder} is not a pack ({error}). Write one with `workbench pack`."
            ) from None
        if found != (FORMAT, VERSION):
            fix = f"This program reads {VERSION}: use the check.py of the pack."
            raise PackError(f"{self.folder} has version {found[1]}. {fix}")
        self._read("tensors.npz", self.manifest["tensors"])
        self.arrays = dict(np.load(self.folder / "tensors.npz"))
        self.images: list[dict[str, Any]] = self.manifest["images"]
        output = self.manifest["output"]
        self.layout = output["layout"]
        self.texts = self.manifest["mistakes"]
        self.known = bool(output["known"])
        self.slope, self.offset = np.array(output["slope"]), np.array(output["offset"])
        self.forms = _value_forms(self.slope, self.offset) if self.known else {}
        self.forms[""] = (self.slope, self.offset)

    def _read(self, name: str, sha256: str) -> bytes:
        try:
            data = (self.folder / name).read_bytes()
        except OSError as error:
            raise PackError(f"{name} cannot be read: {error}. Copy the pack again.") from None
        if hashlib.sha256(data).hexdigest() != sha256:
            raise PackError(f"{name} differs from the file that was packed. Copy the pack again.")
        return data

    def encoded(self, image: dict[str, Any]) -> bytes:
        """Return the bytes of an image file."""
        return self._read(f"images/{image['name']}", image["sha256"])

    def levels(self, image: dict[str, Any], variant: str = "") -> Array:
        """Return the expected array in levels (pixel values of 0..255), with channels last.

        If ``variant`` is a mistake that changes the image, return what a server with it computes.
        """
        if variant in image["mistakes"]:
            return self.arrays[f"{image['name']}|{variant}"].astype(float)
        array = self.arrays[image["name"]].astype(float)
        return (self.channels_last(array) - self.offset) / self.slope

    def channels_last(self, array: Array) -> Array:
        return np.moveaxis(array, 0, -1) if self.layout == "CHW" else array

    def corrected(self, array: Array, candidate: Candidate) -> Array:
        """Undo a candidate's mistakes in a server's array (channels last), and return levels."""
        array = _SPATIAL[candidate.spatial](array)
        array = array[..., ::-1] if candidate.channels == "before" else array
        form = np.array(candidate.scaling).T if candidate.scaling else self.forms[candidate.form]
        array = (array - form[1]) / form[0]
        return array[..., ::-1] if candidate.channels == "after" else array


def check(pack: Pack, function: Function, batched: bool = False) -> list[Verdict]:
    """Call a function with each image, and compare the results with the tensors of the pack."""
    answers: dict[str, tuple[Array | None, str]] = {}
    for image in pack.images:
        data = pack.encoded(image)
        try:
            answers[image["name"]] = _as_array(function(data), pack, image), ""
        except BaseException as error:  # a server that fails or calls sys.exit is a result
            answers[image["name"]] = None, _error_text(error)
    return judge(pack, answers, batched)


def _error_text(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        raise error
    left = "the code ends the process by sys.exit; " * isinstance(error, SystemExit)
    return left + " ".join(f"{type(error).__name__}: {error}".split())[:170]


def judge(
    pack: Pack, answers: dict[str, tuple[Array | None, str]], batched: bool = False
) -> list[Verdict]:
    """Return a Verdict for each image. ``answers`` maps image names to (array or None, error)."""
    formed = {
        image["name"]: _in_form(pack, array, pack.arrays[image["name"]], batched)
        for image in pack.images
        for array in [answers[image["name"]][0]]
        if array is not None and image["expected"] == "tensor"
    }
    plain = [
        (image, array)
        for image in pack.images
        for array in [formed.get(image["name"], (None,))[0]]
        if image["plain"] and array is not None
    ]
    right = (_within(pack.corrected(a, Candidate()), pack.levels(e), e) for e, a in plain)
    common = Candidate() if all(right) else find_candidate(pack, plain)
    verdicts = []
    for image in pack.images:
        name, about = image["name"], image["about"]
        array, error = answers[name]
        if image["expected"] == "refused":
            what = "the server fails too" if error else "the server returns an array"
            detail = f"the graph cannot process it ({image['message']}); {what}"
            verdicts.append(Verdict(name, about, "refused", (), detail))
        elif array is None:
            verdicts.append(Verdict(name, about, "different", ("failed",), error))
        else:
            state, mistakes, detail = _verdict_parts(pack, image, *formed[name], common)
            if not detail and mistakes and mistakes[0] in _OF_FORM.split():
                expected = pack.arrays[name]
                detail = f"{array.dtype}{array.shape}, not {expected.dtype}{expected.shape}"
            twin = formed.get(image["same_as"], (None,))[0]
            if state == "different" and twin is not None and formed[name][0] is not None:
                mistakes += _orientation_mistakes(pack, image, formed[name][0], twin, common)
            if "scaled" in mistakes and common.scaling:
                detail = _scaling_text(pack, common)
            verdicts.append(Verdict(name, about, state, tuple(dict.fromkeys(mistakes)), detail))
    names = {image["name"] for image, _ in plain}
    unknown = sum("unknown" in each.mistakes for each in verdicts if each.name in names)
    if 2 * unknown <= len(plain):
        return verdicts
    certain = {*_OF_FORM.split(), "failed", "not_finite", "unknown", *common.mistakes}
    return [
        each
        if certain.issuperset(each.mistakes)
        else each._replace(mistakes=(*(key for key in each.mistakes if key in certain), "unknown"))
        for each in verdicts
    ]


_OF_FORM = "dtype extra_batch missing_batch layout one_channel no_channel_axis alpha_channel shape"


def _as_array(value: Any, pack: Pack, image: dict[str, Any]) -> Array:
    """Convert a list, or an array or tensor of any library, to a NumPy array."""
    typed = hasattr(value, "dtype")
    for method in ("detach", "cpu", "numpy"):
        value = getattr(value, method, lambda value=value: value)()
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        kind = "None" if value is None else type(value).__name__
        raise TypeError(f"the result is {kind}, not an array of numbers")
    if not typed and image["expected"] == "tensor":
        array = array.astype(pack.arrays[image["name"]].dtype)  # lists have no element type
    return array


def _in_form(
    pack: Pack, array: Array, expected: Array, batched: bool
) -> tuple[Array | None, list[str]]:
    """Return the array as floats with channels last (or None), and mistakes in its form."""
    mistakes = ["dtype"] if array.dtype != expected.dtype else []
    if array.ndim == 4 and array.shape[0] == 1:
        mistakes += [] if batched else ["extra_batch"]
        array = array[0]
    elif batched:
        mistakes.append("missing_batch")
    height, width, channels = pack.channels_last(expected).shape
    if array.shape == expected.shape:
        array = pack.channels_last(array)
    elif array.shape == (height, width, channels):
        mistakes.append("layout")
    elif array.shape == (channels, height, width):
        array = np.moveaxis(array, 0, -1)
        mistakes.append("layout")
    elif array.shape in ((height, width), (height, width, 1), (1, height, width)):
        array = np.repeat(array.reshape(height, width, 1), channels, -1)
        mistakes.append("one_channel" if channels > 1 else "no_channel_axis")
    elif array.shape in ((height, width, 4), (4, height, width)):
        array = (array if array.shape[2] == 4 else np.moveaxis(array, 0, -1))[..., :channels]
        mistakes.append("alpha_channel")
    else:
        return None, [*mistakes, "shape"]
    if not np.isfinite(array).all():
        return None, [*mistakes, "not_finite"]
    return array.astype(float), mistakes


def _verdict_parts(
    pack: Pack,
    image: dict[str, Any],
    array: Array | None,
    mistakes: list[str],
    common: Candidate,
) -> tuple[str, list[str], str]:
    """Return the state, mistakes and detail of an image whose array has the expected shape."""
    if array is None:
        return "different", mistakes, ""
    state = "different" if mistakes else ""
    exact = pack.channels_last(pack.arrays[image["name"]]).astype(float)
    if np.array_equal(array, exact):
        return state or "equal", mistakes, ""
    wanted, plain_levels = pack.levels(image), pack.corrected(array, Candidate())
    if _within(plain_levels, wanted, image):
        amount = "" if mistakes else _difference_text(plain_levels, wanted)
        return state or "within tolerance", mistakes, amount
    found = [*mistakes, *common.mistakes]
    levels = pack.corrected(array, common)
    own = [key for key in image["mistakes"] if not (image["plain"] and key != common.variant)]
    like = pack.levels(image, common.variant)
    if common != Candidate() and _within(levels, like, image, 2.0, common.spatial):
        return "different", found, ""
    apart = {key: _distance(levels, pack.levels(image, key), common.spatial) for key in own}
    start = _distance(levels, wanted, common.spatial)
    best = min(apart, key=lambda key: apart[key]) if apart else ""
    if best and apart[best] < max(start / 3, min(2 * image["tolerance"]["mean"], start / 1.2)):
        return "different", [*found, best], ""
    if common != Candidate() and (common.variant or "dtype" in found):
        return "different", found, ""
    alone = find_candidate(pack, [(image, array)])
    if alone != Candidate():
        return "different", [*mistakes, *alone.mistakes], ""
    if "dtype" in mistakes:  # values cast to another type may be lost
        return "different", mistakes, ""
    return "different", [*found, "unknown"], _difference_text(levels, wanted)


def _orientation_mistakes(
    pack: Pack, image: dict[str, Any], array: Array, twin: Array, common: Candidate
) -> list[str]:
    """Return ``["orientation_ignored"]`` if an image and its upright twin differ, else []."""
    if "orientation_ignored" not in image["mistakes"]:
        return []
    apart = np.abs(pack.corrected(array, common) - pack.corrected(twin, common)).mean()
    return ["orientation_ignored"] if apart > 8 * image["tolerance"]["mean"] else []


def find_candidate(pack: Pack, plain: list[tuple[dict[str, Any], Array]]) -> Candidate:
    """Return the smallest set of mistakes that explains the arrays that a server returned.

    Returns an empty Candidate if the arrays are correct, or if no mistakes explain them.
    """
    variants = ["", *dict.fromkeys(key for image, _ in plain for key in image["mistakes"])]
    scores: dict[Candidate, float] = {}
    for image, array in plain:
        points = _points(array.shape)
        wanted = {key: pack.levels(image, key)[points] for key in variants}
        flat = {key for key, levels in wanted.items() if key and levels.std() < _FLAT}
        for spatial in _SPATIAL:
            moved = _SPATIAL[spatial](array)[points]
            for channels, form in product(("", "before", "after"), pack.forms):
                levels = pack.corrected(moved, Candidate("", channels, form))
                for key in variants if not spatial else [""]:
                    made = Candidate(spatial, channels, form, key)
                    if len(made.mistakes) <= MOST_MISTAKES and key not in flat:
                        score = np.abs(levels - wanted[key]).mean() / image["tolerance"]["mean"]
                        scores[made] = max(scores.get(made, 0.0), float(score))
    start = scores[Candidate()]
    for count in range(1, MOST_MISTAKES + 1):
        several = [each for each in scores if len(each.mistakes) == count]
        best = min(several, key=lambda each: scores[each], default=Candidate())
        if scores[best] <= min(1.5, start / 2):
            return best
    if start <= 1:  # few values differ
        return Candidate()
    if (scaled := _find_scaled_candidate(pack, plain, variants)) != Candidate():
        return scaled
    best = min(scores, key=lambda each: scores[each] * 1.3 ** len(each.mistakes))
    return best if scores[best] < min(start / 3, 4) else Candidate()


def _points(shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return rows and columns of random pixels that are not at the border."""
    random = np.random.default_rng(0)
    edges = [min(2, (side - 1) // 2) for side in shape[:2]]
    rows, columns = (random.integers(edges[i], shape[i] - edges[i], _SAMPLES) for i in (0, 1))
    return rows, columns


def _shift(down: int, right: int) -> Callable[[Array], Array]:
    return lambda array: np.roll(array, (down, right), (0, 1))


_SPATIAL: dict[str, Callable[[Array], Array]] = {
    "": lambda array: array,
    "reshaped": lambda array: np.moveaxis(array, -1, 0).reshape(array.shape),
    "reshaped to HWC": lambda array: np.moveaxis(
        array.reshape(array.shape[2], *array.shape[:2]), 0, -1
    ),
    "axes_swapped": lambda array: (
        array.transpose(1, 0, 2) if array.shape[0] == array.shape[1] else array
    ),
    "mirrored": lambda array: array[:, ::-1],
    "upside_down": lambda array: array[::-1],
    **{
        f"{_SHIFTED} {down} {right}": _shift(down, right)
        for down, right in product((-1, 0, 1), repeat=2)
        if down or right
    },
}
"""Function that undoes each spatial mistake, for an array with channels last."""


def _value_forms(slope: Array, offset: Array) -> dict[str, tuple[Array, Array]]:
    """Map correct and wrong normalisations to (slope, offset): value = slope * level + offset."""
    one = np.ones_like(slope)
    mean = -offset / slope
    candidates = {
        "0..255": (one, 0 * one),
        "0..1": (one / 255, 0 * one),
        "-1..1": (one / 127.5, -one),
        "no_mean": (slope, 0 * one),
        "no_std": (one / 255, -mean / 255),
        "only_mean": (one, -mean),
        "not_divided": (slope * 255, offset),
        "divided_twice": (slope / 255, offset),
        "normalised_twice": (slope * slope * 255, (offset - mean / 255) * slope * 255),
        "reversed_mean": (slope[::-1], offset[::-1]),
    }
    if len(slope) == 3:
        candidates["imagenet"] = (1 / _IMAGENET[1], -_IMAGENET[0] / _IMAGENET[1])
    found = {"": (slope, offset)}
    for key, (a, b) in candidates.items():
        if not any(np.allclose((a, b), each, rtol=1e-3, atol=1e-6) for each in found.values()):
            found[key] = (a, b)
    return found


def _within(
    levels: Array, wanted: Array, image: dict[str, Any], factor: float = 1.0, spatial: str = ""
) -> bool:
    apart = _without_border(np.abs(levels - wanted), spatial)
    limits = image["tolerance"]
    return bool(
        apart.mean() <= factor * limits["mean"] and apart.max() <= factor * limits["largest"]
    )


def _distance(levels: Array, wanted: Array, spatial: str) -> float:
    return float(_without_border(np.abs(levels - wanted), spatial).mean())


def _without_border(array: Array, spatial: str) -> Array:
    return array[2:-2, 2:-2] if spatial.startswith(_SHIFTED) else array


def _difference_text(levels: Array, wanted: Array) -> str:
    apart = np.abs(levels - wanted)
    return f"mean {apart.mean():.2f}, largest {apart.max():.1f} levels"


def _find_scaled_candidate(
    pack: Pack, plain: list[tuple[dict[str, Any], Array]], variants: list[str]
) -> Candidate:
    """Return the mistakes that explain the arrays with a slope and offset fitted to each channel.

    Used for normalisations with unusual constants. Returns an empty Candidate if nothing fits.
    """
    limit = 1.5 * min(image["tolerance"]["mean"] for image, _ in plain)
    found: list[tuple[int, float, Candidate]] = []
    for key in variants:
        wanted = np.concatenate([pack.levels(i, key)[_points(a.shape)] for i, a in plain])
        values = np.concatenate([array[_points(array.shape)] for _, array in plain])
        if min(wanted.std(axis=0).min(), values.std(axis=0).min()) < 1e-9:
            continue
        for channels in ("", "before"):
            values = values[:, ::-1] if channels else values
            fits = [np.polyfit(wanted[:, at], values[:, at], 1) for at in range(wanted.shape[1])]
            slope, offset = np.array(fits).T
            apart = float(np.abs((values - offset) / slope - wanted).mean())
            if apart <= limit:
                scaling = tuple((float(a), float(b)) for a, b in fits)
                form = next(
                    (
                        name
                        for name, (a, b) in pack.forms.items()
                        if np.abs(slope / a - 1).max() < 0.02 and np.abs((offset - b) / a).max() < 2
                    ),
                    "scaled",
                )
                made = Candidate("", channels, form, key, scaling)
                found.append((len(made.mistakes), apart, made))
    return min(found, key=lambda each: each[:2])[2] if found else Candidate()


def _scaling_text(pack: Pack, candidate: Candidate) -> str:
    """Describe the server's values as a linear function of the expected values."""
    slope, offset = np.array(candidate.scaling).T
    factors = slope / pack.slope
    pairs = np.stack([factors, offset - factors * pack.offset], 1)
    return ", ".join(dict.fromkeys(f"{a:.3g} * x {b:+.3g}" for a, b in pairs))


def report(pack: Pack, verdicts: list[Verdict]) -> list[str]:
    """Return the verdicts as lines of text: one per image, then one per mistake."""
    width = max(len(each.name) for each in verdicts)
    lines = []
    for each in verdicts:
        texts = [pack.texts[key][0] for key in each.mistakes]
        text = "; ".join(filter(None, [*texts, each.detail]))
        lines.append(f"{each.state:16}  {each.name:{width}}  {text}".rstrip())
    wrong = [each for each in verdicts if each.state == "different"]
    compared = sum(each.state != "refused" for each in verdicts)
    if not wrong:
        lines.append(f"\nAll {compared} images are equal or within their tolerances.")
    else:
        lines.append(f"\n{len(wrong)} of {compared} images are different.")
    for key in dict.fromkeys(key for each in wrong for key in each.mistakes):
        names = [each.name for each in wrong if key in each.mistakes]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        listed = "all images" if len(names) == compared else ", ".join(names[:_NAMED]) + more
        what, fix = pack.texts[key]
        lines.append(f"- {what[0].upper()}{what[1:]}: {listed}. {fix}")
    if refused := len(verdicts) - compared:
        lines.append(f"Not compared: {refused} that the graph itself cannot process.")
    return lines


def load_function(text: str) -> Function:
    """Import ``file.py:function`` or ``module:function``. Raises PackError if that fails."""
    place, _, name = text.rpartition(":")
    if not place or not name:
        raise PackError(f"{text!r} is not FILE.py:FUNCTION, such as my_server.py:predict.")
    try:
        sys.path.insert(0, str(Path(place).resolve().parent) if place.endswith(".py") else "")
        if place.endswith(".py"):
            spec = importlib.util.spec_from_file_location(Path(place).stem, place)
            assert spec is not None
            assert spec.loader is not None
            module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(place)
        function = getattr(module, name)
    except BaseException as error:
        raise PackError(f"{text} cannot be imported: {_error_text(error)}.") from None
    if not callable(function):
        raise PackError(f"{text} has type {type(function).__name__}. Name a function.")
    return function  # type: ignore[no-any-return]


_TRITON = {
    "BOOL": "?", "UINT8": "u1", "UINT16": "<u2", "UINT32": "<u4", "UINT64": "<u8", "INT8": "i1",
    "INT16": "<i2", "INT32": "<i4", "INT64": "<i8", "FP16": "<f2", "FP32": "<f4", "FP64": "<f8",
}  # fmt: skip


def triton_function(address: str, model: str, output: str = "") -> Function:
    """Return a function that sends an image to Triton by HTTP (protocol v2, binary tensors).

    gRPC is not supported. Raises PackError if the model cannot be reached.
    """
    base = address if "://" in address else f"http://{address}"
    url = f"{base.rstrip('/')}/v2/models/{model}"
    try:
        with urllib.request.urlopen(url, timeout=_SECONDS) as response:
            facts = json.load(response)
        entry = facts["inputs"][0]
        names = [each["name"] for each in facts["outputs"]]
    except (OSError, ValueError, LookupError, http.client.HTTPException) as error:
        raise PackError(
            f"{url} does not describe a model ({' '.join(str(error).split())!r}). Correct --triton "
            "(the HTTP address, not that of gRPC) or --model."
        ) from None
    if output and output not in names:
        raise PackError(f"{model} has no output {output!r}. Use one of: {', '.join(names)}.")
    as_text = entry["datatype"] == "BYTES"
    batched = len(entry["shape"]) == 2

    def call(data: bytes) -> Array:
        body = struct.pack("<I", len(data)) + data if as_text else data
        shape = [1] * batched + [1 if as_text else len(data)]
        tensor = {
            **{"name": entry["name"], "datatype": entry["datatype"], "shape": shape},
            "parameters": {"binary_data_size": len(body)},
        }
        wanted = {"name": output or names[0], "parameters": {"binary_data": True}}
        head = json.dumps({"inputs": [tensor], "outputs": [wanted]}).encode()
        headers = {
            "Inference-Header-Content-Length": str(len(head)),
            "Content-Type": "application/octet-stream",
        }
        request = urllib.request.Request(f"{url}/infer", head + body, headers)
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as response:
                content = response.read()
                length = int(response.headers.get("Inference-Header-Content-Length", len(content)))
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"HTTP {error.code}: {error.read()[:300].decode()}") from None
        found = json.loads(content[:length])["outputs"][0]
        kind = _TRITON[found["datatype"]]
        values = np.array(found["data"], kind) if "data" in found else None
        array = np.frombuffer(content[length:], kind) if values is None else values
        array = array.reshape(found["shape"])
        return array[0] if batched else array

    return call


def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Returns the exit code."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n\n")[0],
        epilog="Exit codes: 0 no difference, 1 differences, 2 invalid arguments or damaged pack.",
    )
    parser.add_argument("function", nargs="?", metavar="FILE.py:FUNCTION")
    parser.add_argument("--triton", metavar="HOST:PORT", help="check a model of Triton (HTTP)")
    parser.add_argument("--model", metavar="NAME", help="name of the model in Triton")
    parser.add_argument("--output", default="", metavar="NAME", help="output of the Triton model")
    parser.add_argument("--batched", action="store_true", help="the function returns a batch of 1")
    parser.add_argument("--pack", default=Path(__file__).parent, metavar="DIR", help="the pack")
    given = parser.parse_args(arguments)
    if (given.function is None) == (given.triton is None):
        parser.error("name either FILE.py:FUNCTION or --triton HOST:PORT")
    if (given.triton is None) != (given.model is None):
        parser.error("--triton and --model need each other")
    try:
        pack = Pack(given.pack)
        function = (
            triton_function(given.triton, given.model, given.output)
            if given.triton
            else load_function(given.function)
        )
        verdicts = check(pack, function, given.batched)
    except PackError as error:
        print(f"check.py: {error}", file=sys.stderr)
        return 2
    print("\n".join(report(pack, verdicts)))
    return 1 if any(each.state == "different" for each in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
