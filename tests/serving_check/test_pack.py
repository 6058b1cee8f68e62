"""Packs: what a folder holds, the mistakes that its checker names, and what is refused."""

from __future__ import annotations

import hashlib
import http.server
import json
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import workbench as wb
from tests.serving_check.servers import decoded, predict_input, with_mistakes
from workbench.cli import main
from workbench.errors import ArgumentError, GraphError, SaveError
from workbench.graph import load_recipe
from workbench.results import recorded_results
from workbench.serving_check import ServingPack, check
from workbench.serving_check.evaluation import evaluation_graph

SERVERS = Path(__file__).with_name("servers.py")
PLANTED = (
    "orientation_ignored", "bgr", "0..255", "0..1", "not_divided", "layout", "reshaped",
    "no_antialias", "nearest", "cubic", "stretched", "longer_side", "shifted", "failed",
    "alpha_on_white", "cmyk_inverted", "sixteen_bit_clipped", "dtype", "extra_batch", "reduced_8",
)  # fmt: skip
PAIRS = (
    ("bgr", "orientation_ignored"),
    ("bgr", "no_antialias"),
    ("0..255", "layout"),
    ("stretched", "0..1"),
    ("dtype", "alpha_on_white"),
    ("bgr", "not_divided", "no_antialias"),
    ("stretched", "orientation_ignored", "-1..1"),
    ("stretched", "only_mean", "orientation_ignored"),
)


@pytest.fixture(scope="module")
def made(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> ServingPack:
    folder = tmp_path_factory.mktemp("packs") / "pack"
    return wb.pack(wb.load_recipe("imagenet-train"), photos, folder)


@pytest.fixture(scope="module")
def pack(made: ServingPack) -> check.Pack:
    return check.Pack(made.folder)


def named(verdicts: list[check.Verdict]) -> Counter[str]:
    return Counter(key for each in verdicts for key in each.mistakes)


def run_checker(folder: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``check.py`` where neither DALI nor the workbench can be imported."""
    code = (
        "import runpy, sys; sys.modules['nvidia'] = sys.modules['workbench'] = None; "
        f"sys.argv = ['check.py', *{arguments!r}]; "
        f"runpy.run_path({folder + '/check.py'!r}, run_name='__main__')"
    )
    return subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)


def test_the_folder_has_images_tensors_and_their_hashes(made: ServingPack) -> None:
    folder = Path(made.folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert len(manifest["images"]) == len(list((folder / "images").iterdir())) == 32
    for image in manifest["images"]:
        data = (folder / "images" / image["name"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == image["sha256"]
    assert manifest["dali"] == wb.load_catalog().dali_version
    assert wb.load_graph(json.dumps(manifest["graph"])).nodes[0].op == "readers.file"


def test_the_result_states_what_is_refused_and_why_differences_are_tolerated(
    made: ServingPack,
) -> None:
    assert made.refused == ("truncated.jpg",)
    assert "The graph cannot process truncated.jpg: ends early" in str(made)
    reasons = {each.name: each.reason for each in made.images}
    assert reasons["plain.png"] == "rounding"
    assert "changes the mean by" in reasons["plain_420.jpg"]
    assert recorded_results()[-1].kind == "pack"
    assert made.to_frame().shape == (32, 5)
    assert made.plot() is not None


def test_a_correct_server_passes(pack: check.Pack) -> None:
    verdicts = check.check(pack, predict_input)
    assert {each.state for each in verdicts} == {"within tolerance", "equal", "refused"} - {"equal"}
    assert "All 31 images are equal or within" in "\n".join(check.report(pack, verdicts))


def test_the_tensors_themselves_are_equal(pack: check.Pack) -> None:
    names = {pack.encoded(image): image["name"] for image in pack.images}
    verdicts = check.check(pack, lambda data: pack.arrays[names[data]].tolist())
    assert Counter(each.state for each in verdicts) == {"equal": 31, "refused": 1}


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_is_named(pack: check.Pack, mistake: str) -> None:
    found = named(check.check(pack, with_mistakes(mistake)))
    assert list(found) == [mistake]
    assert pack.texts[mistake][1]


@pytest.mark.thorough
@pytest.mark.parametrize("mistakes", PAIRS)
def test_several_planted_mistakes_are_named(pack: check.Pack, mistakes: tuple[str, ...]) -> None:
    assert set(named(check.check(pack, with_mistakes(*mistakes)))) == set(mistakes)


def test_only_the_images_of_a_kind_are_different(pack: check.Pack) -> None:
    verdicts = check.check(pack, with_mistakes("orientation_ignored"))
    wrong = [each.name for each in verdicts if each.state == "different"]
    assert wrong == [f"orientation_{value}.jpg" for value in range(2, 9)]


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        (lambda a: a * np.nan, "not_finite"),
        (lambda a: a[:, :200, :200], "shape"),
        (lambda a: 1.5 * a + 2, "scaled"),
        (lambda a: np.sin(9 * a), "unknown"),
        (lambda a: np.ascontiguousarray(a[:, :, ::-1]), "mirrored"),
    ],
)
def test_other_differences_are_described(pack: check.Pack, change: Any, mistake: str) -> None:
    found = named(check.check(pack, lambda data: change(predict_input(data))))
    assert found.most_common(1)[0][0] == mistake


def test_a_server_that_fails_for_one_image_is_checked_with_the_others(pack: check.Pack) -> None:
    def server(data: bytes) -> Any:
        if b"PLTE" in data:
            raise KeyError("palette")
        return predict_input(data)

    wrong = [each for each in check.check(pack, server) if each.state == "different"]
    assert [each.name for each in wrong] == ["palette.png", "palette_alpha.png"]
    assert "KeyError: 'palette'" in "\n".join(check.report(pack, wrong))


def test_a_server_that_ends_the_process_is_a_failure(
    pack: check.Pack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = tmp_path / "leaving.py"
    server.write_text("import sys\ndef f(data):\n    sys.exit(0)\n")
    where = ["--pack", str(pack.folder)]
    assert check.main([f"{server}:f", *where]) == 1
    assert "the code ends the process by sys.exit; SystemExit: 0" in capsys.readouterr().out
    server.write_text("import sys\nsys.exit(0)\n")
    assert check.main([f"{server}:f", *where]) == 2
    assert "leaving.py:f cannot be imported: the code ends" in capsys.readouterr().err


def test_mistakes_of_single_images_are_not_named_beside_an_unknown_difference(
    pack: check.Pack,
) -> None:
    answer = predict_input(pack.encoded(pack.images[0]))
    found = named(check.check(pack, lambda data: answer))
    assert set(found) == {"unknown"}


def test_a_batch_can_be_required(pack: check.Pack) -> None:
    assert not named(check.check(pack, with_mistakes("extra_batch"), batched=True))
    assert set(named(check.check(pack, predict_input, batched=True))) == {"missing_batch"}


def test_the_checker_runs_without_dali_and_workbench(made: ServingPack) -> None:
    right = run_checker(made.folder, f"{SERVERS}:predict_input")
    assert (right.returncode, right.stderr) == (0, "")
    wrong = run_checker(made.folder, f"{SERVERS}:predict_bgr")
    assert wrong.returncode == 1
    assert "- Channels in reverse order (BGR for RGB): " in wrong.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name either FILE.py:FUNCTION or --triton"),
        (("missing.py:f",), "cannot be imported"),
        (("server.py",), "is not FILE.py:FUNCTION"),
        ((f"{SERVERS}:MEAN",), "Name a function"),
        (("--triton", "localhost:1", "--model", "m"), "does not describe a model"),
    ],
)
def test_invalid_arguments_of_the_checker(
    made: ServingPack, arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code: Any = check.main([*arguments, "--pack", made.folder])
    except SystemExit as error:
        code = error.code
    assert code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("damaged", ["images/grey.png", "tensors.npz"])
def test_a_damaged_pack_is_refused(
    made: ServingPack, tmp_path: Path, damaged: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(made.folder, tmp_path / "pack")
    (folder / damaged).write_bytes(b"other")
    assert check.main([f"{SERVERS}:predict_input", "--pack", str(folder)]) == 2
    assert f"{damaged} differs from the file that was packed" in capsys.readouterr().err


class TritonStandIn(http.server.BaseHTTPRequestHandler):
    """Answers Triton's HTTP requests with ``predict_input``; ``binary`` selects the encoding."""

    binary = True
    batched = True

    def do_GET(self) -> None:
        shape = [-1, -1] if self.batched else [-1]
        facts = {
            "inputs": [{"name": "IMAGE", "datatype": "UINT8", "shape": shape}],
            "outputs": [{"name": "images"}],
        }
        self.respond(json.dumps(facts).encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        head = int(self.headers["Inference-Header-Content-Length"])
        asked = json.loads(body[:head])
        assert asked["inputs"][0]["parameters"]["binary_data_size"] == len(body) - head
        try:
            array = predict_input(body[head:])
        except OSError as error:
            self.send_response(400)
            self.end_headers()
            self.wfile.write(json.dumps({"error": str(error)}).encode())
            return
        shape = [1, *array.shape] if self.batched else [*array.shape]
        output: dict[str, Any] = {"name": "images", "datatype": "FP32", "shape": shape}
        if not self.binary:
            output["data"] = array.ravel().tolist()
            self.respond(json.dumps({"outputs": [output]}).encode())
            return
        text = json.dumps({"outputs": [output]}).encode()
        self.respond(text + array.astype("<f4").tobytes(), len(text))

    def respond(self, body: bytes, head: int | None = None) -> None:
        self.send_response(200)
        if head is not None:
            self.send_header("Inference-Header-Content-Length", str(head))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


class JsonStandIn(TritonStandIn):
    binary = batched = False


@contextmanager
def served(handler: type[TritonStandIn]) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_triton_server_is_checked(made: ServingPack, capsys: pytest.CaptureFixture[str]) -> None:
    with served(TritonStandIn) as address:
        arguments = ["--triton", address, "--model", "imagenet", "--pack", made.folder]
        assert check.main(arguments) == 0
        assert "the server fails too" in capsys.readouterr().out
        assert check.main([*arguments, "--output", "other"]) == 2
        assert "Use one of: images." in capsys.readouterr().err


class GrpcStandIn(TritonStandIn):
    def do_GET(self) -> None:
        self.wfile.write(b"\0\0\x06\x04\0\0\0\0\0\0\x05\0\0\x40\0")  # SETTINGS of HTTP/2


def test_a_grpc_address_is_named(made: ServingPack, capsys: pytest.CaptureFixture[str]) -> None:
    with served(GrpcStandIn) as address:
        assert check.main(["--triton", address, "--model", "m", "--pack", made.folder]) == 2
    assert "Correct --triton (the HTTP address, not that of gRPC)" in capsys.readouterr().err


def test_tensors_as_json_are_read(pack: check.Pack) -> None:
    data = pack.encoded(pack.images[0])
    with served(JsonStandIn) as address:
        array = check.triton_function(address, "imagenet")(data)
    assert (array == predict_input(data)).all()


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["BILINEAR", "BICUBIC", "LANCZOS"])
def test_pillow_passes_with_each_filter(photos: Path, tmp_path: Path, name: str) -> None:
    kind = {"BILINEAR": "LINEAR", "BICUBIC": "CUBIC", "LANCZOS": "LANCZOS3"}[name]
    graph = wb.read(photos).decode().resize(size=(96, 128), interp_type=f"INTERP_{kind}")
    pack = check.Pack(wb.pack(graph, photos, tmp_path / "pack").folder)

    def server(data: bytes) -> Any:
        return np.asarray(decoded(data).resize((128, 96), Image.Resampling[name]))

    assert not named(check.check(pack, server))


@pytest.mark.thorough
def test_opencv_passes_where_it_resizes_like_the_graph(photos: Path, tmp_path: Path) -> None:
    cv2: Any = pytest.importorskip("cv2")
    graph = wb.read(photos).decode().resize(size=(96, 128), antialias=False)
    made = wb.pack(graph, photos, tmp_path / "pack")

    def server(data: bytes) -> Any:
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
        return cv2.resize(pixels, (128, 96))[..., ::-1]

    pack = check.Pack(made.folder)
    assert {each.state for each in check.check(pack, server)} <= {
        "equal", "within tolerance", "refused",
    }  # fmt: skip
    assert set(named(check.check(pack, lambda data: server(data)[..., ::-1]))) == {"bgr"}


def test_a_graph_without_validation_variant_is_refused(photos: Path, tmp_path: Path) -> None:
    graph = wb.load_recipe("histology-stain")
    with pytest.raises(GraphError, match="has no evaluation variant"):
        wb.pack(graph, photos, tmp_path / "pack")
    assert not (tmp_path / "pack").exists()


def test_the_result_names_what_evaluation_removes_and_changes() -> None:
    _, changes = evaluation_graph(load_recipe("auto-augment"))
    assert changes.endswith("(removed: mirror, flip, augment; changed: crop).")
    assert evaluation_graph(load_recipe("imagenet-eval"))[1] == ""


def test_an_output_must_be_chosen_if_there_are_several(photos: Path, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"2 image outputs \(view_1, view_2\)"):
        wb.pack(wb.load_recipe("simclr"), photos, tmp_path / "pack")


def test_an_output_that_is_no_image_is_refused(photos: Path, tmp_path: Path) -> None:
    images = wb.read(photos).decode().resize(size=(32, 32))
    with pytest.raises(GraphError, match="No output of the graph is an image"):
        wb.pack(wb.outputs(labels=images.labels), photos, tmp_path / "pack")


def test_a_folder_with_other_files_is_refused(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(SaveError, match="already exists"):
        wb.pack(wb.load_recipe("imagenet-eval"), photos, tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.thorough
def test_the_command_writes_a_pack(photos: Path, tmp_path: Path) -> None:
    graph = tmp_path / "graph.json"
    cropped = wb.read(photos).decode().crop(crop=(96, 96))
    graph.write_text(wb.dump_graph(cropped))
    folder = tmp_path / "pack"
    found = CliRunner().invoke(main, ["pack", str(graph), "--data", str(photos), "-o", str(folder)])
    assert found.exit_code == 0, found.output
    assert "The graph cannot process one_pixel.png" in found.output
    assert {each.name for each in folder.iterdir()} == {
        "check.py", "images", "manifest.json", "tensors.npz",
    }  # fmt: skip
