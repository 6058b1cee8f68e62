"""Video as a source: sequences, codecs, whole files, and what DALI does not decode."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.helpers import import_script, same, script_batches
from tests.sources.clips import write_clips, write_coded
from workbench.bench import Benchmark
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.catalog import load_catalog
from workbench.catalog.spec import Value
from workbench.emit.targets import export
from workbench.engine import Engine
from workbench.engine.file_checks.file_check import check_header
from workbench.engine.importing import from_file
from workbench.errors import DataError, GraphExportError
from workbench.graph.checks.check import check_graph
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.graph.model import Graph, Node, Port, Settings, Source
from workbench.graph.types.devices import device_of, infer_devices
from workbench.health import check_folder
from workbench.preview.pictures.pixels import read_pixels
from workbench.preview.request import PreviewRequest
from workbench.preview.requests.effect import render_effect
from workbench.preview.requests.render import render
from workbench.preview.requests.statistics import batch_statistics
from workbench.preview.verify import Verifier
from workbench.samples.annotations import avi
from workbench.sources import (
    list_samples,
    open_dataset,
    open_datasets,
    require_dataset,
)
from workbench.sources.kinds import video
from workbench.sources.kinds.video import codec_of, refusal

LENGTH, STRIDE = 4, 2
GOLDEN = Path(__file__).with_name("golden")
"""Clips of ``write_coded``."""
GPU_CLIPS = ("h264.mp4", "h264.mkv", "hevc.mp4", "mpeg4.mp4")
SHORT = MeasurementConfig(
    round_seconds=0.02, round_batches=2, rounds=2, warm_up_rounds=1, budget=0.0
)


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clips(tmp_path_factory.mktemp("clips"))


def a_graph(*, shuffled: bool = True) -> Graph:
    """Sequences that are turned by one angle each, and their labels."""
    args = {"sequence_length": LENGTH, "stride": STRIDE, "random_shuffle": shuffled}
    reader = Source("reader", "experimental.readers.video", args, seed=0, kind="video")
    resize = Node("resize", "resize", {"size": (48, 64)}, {"data": Port("reader", "frames")})
    angle = Node("angle", "random.uniform", {"range": (-30, 30)}, seed=1)
    turned = {"data": Port("resize", "output"), "angle": Port("angle", "output")}
    rotate = Node("rotate", "rotate", {"keep_size": True, "fill_value": 0}, turned)
    return Graph(
        nodes=(reader, resize, angle, rotate),
        outputs={"frames": Port("rotate", "output"), "labels": Port("reader", "labels")},
        settings=Settings(batch_size=4, num_threads=2),
    )


def test_a_folder_of_videos_is_one_of_clips_with_labels(clips: Path) -> None:
    dataset = open_dataset(clips)
    assert dataset.kind == "video"
    require_dataset(dataset)
    found = [(sample.name, sample.label) for sample in list_samples(dataset)]
    assert found == [("a/0.avi", 0), ("a/1.avi", 0), ("b/2.avi", 1), ("b/3.avi", 1)]
    assert open_dataset(clips / "a" / "0.avi").kind == "video"
    assert open_dataset([(clips / "a" / "0.avi", 3)]).kind == "video"
    assert not any(check_header(sample).findings for sample in list_samples(dataset))


def test_frames_are_those_of_the_clip_at_the_stride(clips: Path, tmp_path: Path) -> None:
    graph = replace(a_graph(shuffled=False), outputs={"frames": Port("reader", "frames")})
    assert not check_graph(graph, load_catalog())
    ((frames,),) = script_batches(graph, clips / "a" / "1.avi", 1, tmp_path)
    first = frames[0]
    assert first.shape == (LENGTH, 96, 128, 3)
    green = first[:, 60, 120, 1].astype(int)
    assert np.abs(green - 12 * STRIDE * np.arange(LENGTH)).max() <= 4


def test_frame_numbers_and_times_are_outputs(clips: Path, tmp_path: Path, engine: Engine) -> None:
    """Of each frame, or of the first one; -1 for the frames that pad a sequence."""
    graph = a_graph(shuffled=False)
    reader = graph.sources[0]
    outputs = {"number": Port("reader", "frame_num"), "seconds": Port("reader", "timestamps")}
    lacking = replace(graph, outputs=outputs)
    remedies = [fault.remedy for fault in check_graph(lacking, load_catalog())]
    assert remedies == ["Set enable_frame_num to scalar or sequence.", "Turn on enable_timestamps."]
    options = {"enable_frame_num": "sequence", "enable_timestamps": True, "pad_mode": "constant"}
    reader = replace(reader, args={**reader.args, **options, "sequence_length": 6})
    graph = replace(graph, nodes=(reader, *graph.nodes[1:]), outputs=graph.outputs | outputs)
    text = export(graph, "script", load_catalog()).main.text
    assert "number (int32 [6]) and\nseconds (float64 [6])." in text
    ((_, _, numbers, seconds),) = script_batches(graph, clips, 1, tmp_path)
    assert [each.tolist() for each in numbers[:2]] == [
        [0, 2, 4, 6, 8, 10],
        [12, 14, 16, 18, -1, -1],
    ]
    assert np.allclose(seconds[1], [1.2, 1.4, 1.6, 1.8, -1, -1])
    shown = engine.call(render, PreviewRequest(graph, str(clips), tiles=2, tile_size=64))
    assert shown.tiles[1].targets[0] == "number 12, 14, 16, 18, -1, -1"
    assert shown.tiles[0].targets[1] == "seconds 0, 0.2, 0.4, 0.6, 0.8, 1"
    exact = Verifier(graph, str(clips), 3, engine=engine).run()
    assert exact.exact, exact.lines()
    (tmp_path / "edited.py").write_text(text.replace("SIZE = [48, 64]", "SIZE = [40, 64]"))
    again = from_file(tmp_path / "edited.py")
    assert again.report.is_exact
    assert (again.graph.sources[0].args, again.graph.outputs) == (reader.args, graph.outputs)
    first = replace(reader, args={**reader.args, "enable_frame_num": "scalar"})
    graph = replace(graph, nodes=(first, *graph.nodes[1:]))
    ((_, _, numbers, _),) = script_batches(graph, clips, 1, tmp_path)
    assert [each.tolist() for each in numbers[:2]] == [[0], [12]]
    devices = infer_devices(replace(graph, settings=Settings(device="mixed")), load_catalog())
    assert {device_of(devices, port) for port in outputs.values()} == {"cpu"}


def decoding(**args: Value) -> Graph:
    """Whole files that ``decoders.video`` decodes from a random first frame."""
    nodes = (
        Source("reader", "readers.file", seed=0, kind="encoded_videos"),
        Node("start", "random.uniform", {"range": (0, 5), "dtype": "INT32"}, seed=1),
        Node(
            "decode",
            "decoders.video",
            args,
            {"encoded": Port("reader", "jpegs"), "start_frame": Port("start", "output")},
        ),
        Node("resize", "resize", {"size": (48, 64)}, {"data": Port("decode", "output")}),
    )
    outputs = {"frames": Port("resize", "output"), "labels": Port("reader", "labels")}
    return Graph("clips", nodes=nodes, outputs=outputs, settings=Settings(batch_size=4))


def test_encoded_videos_are_decoded_in_preview_script_and_loader(
    clips: Path, tmp_path: Path, engine: Engine
) -> None:
    graph = decoding(sequence_length=LENGTH, stride=STRIDE)
    assert not check_graph(graph, load_catalog())
    exact = Verifier(graph, str(clips), 8, engine=engine).run()
    assert exact.exact, exact.lines()
    shown = engine.call(render, PreviewRequest(graph, str(clips), tiles=4, tile_size=64))
    assert [tile.sample.file for tile in shown.tiles][::3] == ["a/0.avi", "b/3.avi"]
    assert (shown.tiles[3].class_name, shown.tiles[3].shape) == ("b", "4×48×64×3 u8")
    whole = replace(graph, outputs={**graph.outputs, "start": Port("start", "output")})
    ((frames, _, starts),) = script_batches(whole, clips, 1, tmp_path)
    green = frames[1][:, 40, 60, 1].astype(int)
    assert np.abs(green - 12 * (int(starts[1]) + STRIDE * np.arange(LENGTH))).max() <= 4
    rows = Benchmark(graph, str(clips), measurement_config=SHORT).run().measurements
    assert next(row.median for row in rows if row.device == "cpu")
    text = export(graph, "script", load_catalog()).main.text
    assert "sequences/s" in text
    (tmp_path / "edited.py").write_text(text.replace("SIZE = [48, 64]", "SIZE = [40, 64]"))
    again = from_file(tmp_path / "edited.py")
    assert again.report.is_exact
    assert again.graph.sources[0].kind == "encoded_videos"
    served = export(graph, "triton", load_catalog())
    assert "dims: [ 4, 48, 64, 3 ]" in served.files["model_repository/clips/config.pbtxt"].text
    assert served.notes[0] == "decode uses the default of start_frame."


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["frame numbers", "decoder", "video_request"])
def test_videos_are_measured_and_read_by_pytorch(
    kind: str, clips: Path, tmp_path: Path, engine: Engine
) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    graph = decoding(sequence_length=LENGTH, stride=STRIDE)
    if kind == "frame numbers":
        graph = a_graph()
        (reader, *others) = graph.nodes
        reader = reader.with_args({"enable_frame_num": "sequence", "enable_timestamps": True})
        outputs = {"number": Port("reader", "frame_num"), "time": Port("reader", "timestamps")}
        graph = replace(graph, nodes=(reader, *others), outputs=graph.outputs | outputs)
    elif kind == "video_request":
        args = {"sequence_length": LENGTH, "last_sequence_policy": "pad"}
        reader = Source("reader", "experimental.inputs.video", args, kind="video_request")
        resize = replace(graph.node("resize"), inputs={"data": Port("reader", "output")})
        shown = {"frames": Port("resize", "output")}
        graph = replace(graph, nodes=(reader, resize), outputs=shown)
    assert Verifier(graph, str(clips), 8, engine=engine).run().exact
    rows = Benchmark(graph, str(clips), measurement_config=SHORT).run().measurements
    assert next(row.median for row in rows if row.device == "cpu")
    module = import_script(export(graph, "pytorch", load_catalog()).main.text, tmp_path)
    batch = next(iter(module.Loader(module.build_pipeline(str(clips)))))
    assert batch["frames"].shape[:2] == (4, LENGTH)
    ((frames, *_),) = script_batches(graph, clips, 1, tmp_path)
    if kind == "video_request":  # the loader reads shuffled data otherwise
        assert same(list(batch["frames"].numpy()), frames)
    if kind == "frame numbers":
        assert batch["number"].shape == batch["time"].shape == (4, LENGTH)


def test_sequences_of_any_length_are_refused_where_a_batch_is_one_array() -> None:
    graph = decoding(pad_mode="none", sequence_length=LENGTH)
    with pytest.raises(GraphExportError, match="'frames' may have sequences of different lengths"):
        export(graph, "pytorch", load_catalog())


def test_encoded_videos_that_cannot_be_decoded_are_named(
    clips: Path, tmp_path: Path, engine: Engine
) -> None:
    folder = tmp_path / "clips"
    shutil.copytree(clips, folder)
    (folder / "a" / "0.avi").write_bytes(b"no video")
    (folder / "a" / "1.avi").write_bytes((clips / "a" / "1.avi").read_bytes()[:3000])
    graph = decoding(sequence_length=LENGTH)
    found = Verifier(graph, str(folder), 2, engine=engine).run()
    assert found.exact, found.lines()
    assert {each.file for each in found.left_out} == {"a/0.avi", "a/1.avi"}
    files = tuple(sorted(map(str, folder.rglob("*.avi"))))
    reader = replace(graph.sources[0], args={"files": files, "labels": (0, 0, 1, 1)})
    own = replace(graph, nodes=(reader, *graph.nodes[1:]))
    shown = engine.call(render, PreviewRequest(own, str(folder), tiles=4, tile_size=64))
    errors = [tile.sample.error for tile in shown.tiles]
    assert errors[0].startswith("it is not an AVI, WebM, Matroska or MP4 file")
    assert "Invalid data" in errors[1]
    assert errors[2:] == ["", ""]


def test_a_graph_that_decodes_videos_reads_folders_of_videos_whole(
    clips: Path, photos: Path
) -> None:
    graph = decoding(sequence_length=LENGTH)
    folder = graph.replace_node(replace(graph.sources[0], kind="folder"))
    sampled = replace(graph.sources[0], args={"sampler": "balanced"})
    assert Verifier(graph.replace_node(sampled), str(clips), 2).run().exact
    opened = with_datasets(folder, open_datasets(str(clips)))
    assert opened.sources[0].kind == "encoded_videos"
    still = with_datasets(opened, open_datasets(str(photos)))
    assert still.node("decode").op == "decoders.image"
    assert still.node("decode").inputs == {"data": Port("reader", "jpegs")}
    wrong = graph.replace_node(still.node("decode"))
    (fault,) = check_graph(wrong, load_catalog())
    assert "decoders.image does not decode videos that reader reads" in str(fault)


def test_one_draw_turns_all_frames_of_a_sequence(clips: Path, tmp_path: Path) -> None:
    graph = a_graph(shuffled=False)
    turned = {**graph.outputs, "angle": Port("angle", "output")}
    ((frames, _, angles),) = script_batches(replace(graph, outputs=turned), clips, 1, tmp_path)
    assert [np.shape(angle) for angle in angles] == [()] * 4
    assert len({float(angle) for angle in angles}) == 4
    for sequence in frames:  # a frame's corner is cut off by the turn: black in each or in none
        corners = sequence[1:, 0, 0].max(axis=-1) > 0
        assert corners.all() or not corners.any()


def test_a_tile_has_the_frames_and_the_closeup_one(clips: Path, engine: Engine) -> None:
    request = PreviewRequest(a_graph(shuffled=False), str(clips), tiles=4, tile_size=128)
    result = engine.call(render, request)
    assert result.outputs == ("frames",)
    assert len(result.tiles) == 4
    assert [tile.class_name for tile in result.tiles] == ["a", "a", "a", "a"]
    strip = engine.call(read_pixels, request, 0, "reader.frames")
    assert strip.size == (256, 192)  # four frames of 128 x 96, in two lines
    third = engine.call(read_pixels, request, 0, "reader.frames", 0, 0, None, None, 2)
    assert third.size == (128, 96)
    assert same([strip.values[96:, :128]], [third.values])
    effect = engine.call(render_effect, request, [request.graph] * 2, 0)
    assert (effect.errors, effect.alike) == (("", ""), (0, 0))
    (found,) = engine.call(batch_statistics, request)
    assert found.samples == 4


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("h.avi", avi([b"\0"], 8, 8, b"H264"), r"H\.264 in AVI"),
        ("x.avi", avi([b"\0"], 8, 8, b"XVID"), "MPEG-4 in AVI"),
        ("a.webm", b"\x1aE\xdf\xa3" + bytes(40) + b"\x86\x85V_AV1\x88", "AV1 in Matroska"),
        ("t.avi", b"no video", "not an AVI, WebM, Matroska or MP4 file"),
    ],
)
def test_a_codec_that_cannot_be_decoded_is_named(
    tmp_path: Path, name: str, content: bytes, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(video, "has_gpu", lambda: False)
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"{name} is {words}.*ffmpeg -i {name}"):
        require_dataset(open_dataset(path))
    (sample,) = list_samples(open_dataset(path))
    assert check_header(sample).level == "bad"


def test_a_video_that_ends_early_is_left_out_by_name(
    clips: Path, tmp_path: Path, engine: Engine
) -> None:
    """DALI passes over what is missing of it without a word."""
    folder = tmp_path / "clips"
    shutil.copytree(clips, folder)
    (cut, empty) = sorted((folder / "a").iterdir())[:2]
    whole = cut.read_bytes()
    cut.write_bytes(whole[:3000])
    empty.write_bytes(b"")
    lacking = f"it is truncated: {len(whole) - 3000:,} bytes are missing"
    bad = {one.file: one.reason for one in check_folder(str(folder)).bad}
    assert bad == {f"a/{cut.name}": lacking, f"a/{empty.name}": "the file is empty"}
    request = PreviewRequest(a_graph(shuffled=False), str(folder), tiles=2, tile_size=128)
    note = engine.call(render, request).note
    assert f"2 of its samples cannot be read; the first, a/{cut.name}: {lacking}" in note
    cut.write_bytes(whole[:4] + b"\xff" * 4 + whole[8:3000])
    assert not check_header(next(list_samples(open_dataset(folder)))).findings


def test_a_video_of_another_codec_is_left_out_of_a_folder(
    clips: Path, tmp_path: Path, engine: Engine
) -> None:
    folder = tmp_path / "clips"
    shutil.copytree(clips, folder)
    shutil.copy(GOLDEN / "av1.mp4", folder / "a" / "00.mp4")
    (folder / "b" / "9.avi").write_bytes(b"no video")
    require_dataset(open_dataset(folder), "cpu")
    bad = {one.file: one.reason for one in check_folder(str(folder)).bad}
    assert bad.keys() == {"a/00.mp4", "b/9.avi"}
    assert "AV1 in MP4" in bad["a/00.mp4"]
    graph = a_graph(shuffled=False)
    shown = engine.call(render, PreviewRequest(graph, str(folder), tiles=4, tile_size=64))
    assert {tile.sample.file for tile in shown.tiles} == {"a/0.avi", "a/1.avi"}
    assert "2 of its samples cannot be read" in shown.note
    told = Verifier(graph, str(folder), 2, engine=engine).run()
    assert told.exact, told.lines()
    assert len(told.left_out) == 2


def test_av1_is_refused_beside_a_gpu_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(video, "has_gpu", lambda: True)
    assert refusal(str(GOLDEN / "av1.mp4")) == "AV1 in MP4"
    assert refusal(str(GOLDEN / "h264.mp4")) == ""


def test_motion_jpeg_is_for_the_cpu_alone(clips: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(video, "has_gpu", lambda: True)
    require_dataset(open_dataset(clips))
    require_dataset(open_dataset(clips), "cpu")
    told = r"motion JPEG in AVI.*not decode it on the GPU\. Decode on the CPU, or.*ffmpeg"
    with pytest.raises(DataError, match=told):
        require_dataset(open_dataset(clips), "mixed")


def _box(name: bytes, content: bytes) -> bytes:
    return (len(content) + 8).to_bytes(4, "big") + name + content


def test_the_codec_of_an_mp4_is_found_behind_its_frames(tmp_path: Path) -> None:
    entries = _box(b"stsd", bytes(4) + bytes([0, 0, 0, 1]) + _box(b"avc1", bytes(8)))
    path = tmp_path / "a.mp4"
    movie = _box(b"moov", _box(b"vmhd", bytes(12)) + entries)
    path.write_bytes(_box(b"ftyp", b"isom") + _box(b"mdat", bytes(100_000)) + movie)
    assert codec_of(str(path)) == ("mp4", "avc1")


def test_a_folder_without_videos_says_so(tmp_path: Path) -> None:
    dataset = replace(open_dataset(tmp_path), kind="video")
    with pytest.raises(DataError, match="There is no video in"):
        require_dataset(dataset)


@pytest.mark.parametrize("name", GPU_CLIPS)
def test_what_a_gpu_decodes_is_refused_on_the_cpu_alone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = open_dataset(GOLDEN / name)
    monkeypatch.setattr(video, "has_gpu", lambda: True)
    require_dataset(dataset)
    require_dataset(dataset, "mixed")
    with pytest.raises(DataError, match=rf"{name} is .*on the CPU\. Decode on the GPU"):
        require_dataset(dataset, "cpu")
    monkeypatch.setattr(video, "has_gpu", lambda: False)
    with pytest.raises(DataError, match=rf"{name} is .*not decode it on the CPU\. It supports"):
        require_dataset(dataset)


def test_a_script_for_the_gpu_is_imported_back(tmp_path: Path) -> None:
    graph = a_graph()
    graph = replace(graph, settings=replace(graph.settings, device="mixed"))
    path = tmp_path / "pipe.py"
    path.write_text(export(graph, "script", load_catalog()).main.text)
    imported = from_file(path)
    assert not imported.report.faults
    assert imported.graph.settings.device == "mixed"
    assert [node.device for node in imported.graph.nodes] == [None] * 4
    assert imported.graph.outputs == graph.outputs
    devices = infer_devices(graph, load_catalog())
    sides = [
        device_of(devices, port)
        for port in (Port("reader", "frames"), Port("rotate", "output"), Port("reader", "labels"))
    ]
    assert sides == ["mixed", "gpu", "cpu"]


def test_vp9_is_decoded_on_the_cpu(tmp_path: Path) -> None:
    ((frames, _),) = script_batches(a_graph(shuffled=False), GOLDEN / "vp9.webm", 1, tmp_path)
    assert frames[0].shape == (LENGTH, 48, 64, 3)


@pytest.mark.gpu
class TestOnTheGpu:
    @pytest.fixture(params=[*GPU_CLIPS, "vp9.webm"])
    def clip(self, request: pytest.FixtureRequest) -> Path:
        return GOLDEN / str(request.param)

    @pytest.fixture
    def graph(self) -> Graph:
        graph = a_graph()
        return replace(graph, settings=replace(graph.settings, device="mixed", batch_size=2))

    def test_frames_are_those_that_were_drawn(
        self, clip: Path, graph: Graph, engine: Engine, tmp_path: Path
    ) -> None:
        """In the script and in the preview: a failure shows which of the two differs, and how."""
        (reader,) = graph.sources
        ordered = replace(reader, args={**reader.args, "random_shuffle": False})
        frames = {"frames": Port("reader", "frames")}
        graph = replace(graph, nodes=(ordered, *graph.nodes[1:]), outputs=frames)
        drawn = [12 * STRIDE * number for number in range(2 * LENGTH)]
        ((read,),) = script_batches(graph, clip, 1, tmp_path)
        script = [int(frame[150, 240, 1]) for sequence in read for frame in sequence]
        request = PreviewRequest(graph, str(clip), tiles=2, tile_size=128)
        shown = [
            engine.call(read_pixels, request, sample, "reader.frames", 0, 0, None, None, number)
            for sample in range(2)
            for number in range(LENGTH)
        ]
        preview = [int(each.values[150, 240, 1]) for each in shown]
        told = f"{clip.name}, green: drawn {drawn}, script {script}, preview {preview}"
        assert {each.size for each in shown} == {(256, 192)}, told
        assert preview == script, told
        near = [
            0.8 * one - 6 <= other <= 1.1 * one + 6
            for one, other in zip(drawn, script, strict=True)
        ]
        assert all(near), told  # BT.601 or BT.709

    def test_the_preview_is_the_script_to_batch_seven(
        self, clip: Path, graph: Graph, engine: Engine
    ) -> None:
        found = Verifier(graph, str(clip), 8, engine=engine).run()
        assert found.exact, found.lines()
        assert found.device == "mixed"

    def test_it_is_measured_and_the_cpu_says_why_not(self, clip: Path, graph: Graph) -> None:
        report = Benchmark(graph, str(clip), measurement_config=SHORT).run()
        rows = {row.device: row for row in report.measurements}
        told = {device: row.reason or row.median for device, row in rows.items()}
        assert rows["mixed"].median, told
        if clip.name != "vp9.webm":
            assert "Decode on the GPU (mixed)" in rows["cpu"].reason, told

    def test_frame_numbers_and_times_are_on_the_cpu(
        self, clip: Path, graph: Graph, engine: Engine, tmp_path: Path
    ) -> None:
        (reader,) = graph.sources
        options = {"enable_frame_num": "sequence", "enable_timestamps": True}
        reader = replace(reader, args={**reader.args, **options, "random_shuffle": False})
        outputs = {"number": Port("reader", "frame_num"), "time": Port("reader", "timestamps")}
        graph = replace(graph, nodes=(reader, *graph.nodes[1:]), outputs=graph.outputs | outputs)
        ((_, _, numbers, times),) = script_batches(graph, clip, 1, tmp_path)
        assert [each.tolist() for each in numbers] == [[0, 2, 4, 6], [8, 10, 12, 14]]
        assert np.allclose(times[0], np.arange(4) * 0.2, atol=1e-3)
        assert Verifier(graph, str(clip), 3, engine=engine).run().exact

    def test_whole_files_are_decoded(self, clip: Path, engine: Engine, tmp_path: Path) -> None:
        graph = decoding(sequence_length=LENGTH, stride=STRIDE)
        graph = replace(graph, settings=replace(graph.settings, device="mixed", batch_size=2))
        found = Verifier(graph, str(clip), 4, engine=engine).run()
        assert found.exact, found.lines()
        assert found.device == "mixed"
        ((frames, _),) = script_batches(graph, clip, 1, tmp_path)
        assert frames[0].shape == (LENGTH, 48, 64, 3)

    def test_tiles_know_their_file(self, clip: Path, graph: Graph, engine: Engine) -> None:
        result = engine.call(render, PreviewRequest(graph, str(clip), tiles=2, tile_size=64))
        assert [tile.sample.file for tile in result.tiles] == [clip.name] * 2

    def test_its_pytorch_loader_gives_frames_on_the_gpu(
        self, clip: Path, graph: Graph, tmp_path: Path
    ) -> None:
        pytest.importorskip("torch", reason="torch is not installed")
        module = import_script(export(graph, "pytorch", load_catalog()).main.text, tmp_path)
        batch = next(iter(module.Loader(module.build_pipeline(str(clip)))))
        assert batch["frames"].shape == (2, LENGTH, 48, 64, 3)
        assert batch["frames"].is_cuda


@pytest.mark.parametrize("codec", ["libvpx", "libvpx-vp9"])
def test_webm_is_decoded(tmp_path: Path, codec: str) -> None:
    pytest.importorskip("av", reason="av is not installed")
    write_coded(tmp_path / "a.webm", codec)
    work = tmp_path / "work"
    work.mkdir()
    ((frames, _),) = script_batches(a_graph(), tmp_path / "a.webm", 1, work)
    assert frames[0].shape == (LENGTH, 48, 64, 3)


def test_an_operator_that_takes_no_sequences_says_so() -> None:
    catalog = load_catalog()
    graph = a_graph()
    moved = Node("water", "water", {}, {"data": Port("resize", "output")})
    frames = {"frames": Port("water", "output")}
    (fault,) = check_graph(replace(graph, nodes=(*graph.nodes, moved), outputs=frames), catalog)
    assert "not sequences" in fault.message
    assert "Select one frame before it" in fault.remedy
    one = Node("one", "subscript", {"index": "0"}, {"data": Port("resize", "output")})
    moved = replace(moved, inputs={"data": Port("one", "output")})
    mended = replace(graph, nodes=(*graph.nodes, one, moved), outputs=frames)
    assert not check_graph(mended, catalog)


@pytest.mark.thorough
def test_automatic_augmentation_takes_sequences_too(clips: Path, engine: Engine) -> None:
    graph = a_graph()
    found = Node("auto", "trivial_augment_wide", {}, {"data": Port("resize", "output")})
    outputs = {"frames": Port("auto", "output")}
    graph = replace(graph, nodes=(*graph.nodes, found), outputs=outputs)
    exact = Verifier(graph, str(clips), 3, engine=engine).run()
    assert exact.exact, exact.lines()


def test_the_script_counts_sequences_and_frames() -> None:
    text = export(a_graph(), "script", load_catalog()).main.text
    assert "imgs/s" not in text
    assert "sequences/s, {rate * 4:.0f} frames/s" in text
