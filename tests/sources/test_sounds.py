"""Sounds: read, decoded, drawn, exported and imported, of files that `wave` wrote."""

from __future__ import annotations

import struct
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from tests.helpers import arrays_of, built, import_script, same
from workbench.catalog.spec import Value
from workbench.cli import main
from workbench.engine.resources.batch_store import Batch
from workbench.errors import DataError
from workbench.graph import Graph, Node, Port, Settings
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.graph.fixes import fixes
from workbench.graph.model import Source
from workbench.graph.resolved import ResolvedGraph
from workbench.preview.pictures.frame_strip import axes_note, is_sound, sound_pictures
from workbench.preview.requests.steps import render_steps
from workbench.preview.verify import verify
from workbench.roots import Roots
from workbench.sources import data_facts, list_samples, load_source, open_dataset, open_datasets
from workbench.ui.state.view_state import root_faults

RATE = 16_000

SPEECH = """
from nvidia.dali import fn, pipeline_def, types

@pipeline_def(batch_size=3, num_threads=2, device_id=None, seed=7)
def speech(data="sounds"):
    encoded, label = fn.readers.file(file_root=data, random_shuffle=True, name="Reader")
    audio, rate = fn.decoders.audio(encoded, dtype=types.FLOAT, downmix=True)
    begin, length = fn.nonsilent_region(audio, cutoff_db=-60)
    audio = fn.slice(audio, begin, length, axes=[0])
    audio = audio + fn.random.normal(audio) * 1e-5
    audio = fn.preemphasis_filter(audio)
    spectrum = fn.spectrogram(audio, nfft=512, window_length=320, window_step=160)
    mel = fn.mel_filter_bank(spectrum, sample_rate=16000.0, nfilter=64)
    decibels = fn.to_decibels(mel, multiplier=10.0, reference=1.0, cutoff_db=-80)
    return audio, fn.normalize(decibels, axes=[1]), fn.mfcc(decibels, n_mfcc=20), label
"""


NAMED = """
import numpy as np
from nvidia.dali import fn, pipeline_def, types

@pipeline_def(batch_size=1, num_threads=1, device_id=None)
def named():
    read, _ = fn.readers.file(file_root={root!r}, name="Reader")
    audio, _ = fn.decoders.audio(read, downmix=True)
    path = types.Constant(np.frombuffer(b"{root}/b/three.wav", np.uint8))
    other, _ = fn.decoders.audio(fn.io.file.read(path), downmix=True)
    return audio, other
"""


def write_sound(path: Path, seconds: float = 0.5, channels: int = 1) -> Path:
    """A tone that rises."""
    time = np.arange(int(RATE * seconds)) / RATE
    tone = 0.5 * np.sin(2 * np.pi * (300 + 900 * time) * time)
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, 2, RATE, 0, "NONE", ""))
        file.writeframes(np.repeat((tone * 32767).astype("<i2"), channels).tobytes())
    return path


@pytest.fixture(scope="module")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sounds")
    for name, seconds in (("a/one", 0.3), ("a/two", 0.5), ("b/three", 0.4)):
        write_sound(root / f"{name}.wav", seconds)
    return root


def test_folders_files_and_lists_of_sounds_are_sounds(sounds: Path, tmp_path: Path) -> None:
    opened = open_dataset(sounds)
    assert opened.kind == "sounds"
    found = [(sample.name, sample.label) for sample in list_samples(opened)]
    assert found == [("a/one.wav", 0), ("a/two.wav", 0), ("b/three.wav", 1)]
    assert open_dataset(sounds / "a" / "one.wav").kind == "sounds"
    assert open_dataset([sounds / "a" / "one.wav"]).kind == "sounds"
    listed = tmp_path / "list.txt"
    listed.write_text(f"{sounds}/a/one.wav 4\n")
    (only,) = list_samples(open_dataset(listed))
    assert (open_dataset(listed).kind, only.label) == ("sounds", 4)
    with pytest.raises(DataError, match=r"There is no sound in .*Use \.flac, \.ogg, \.wav files"):
        load_source("sounds").require(open_dataset(f"sounds:{tmp_path}"))


def test_a_pipeline_of_sound_opens_runs_and_comes_back(sounds: Path, tmp_path: Path) -> None:
    script = tmp_path / "speech.py"
    script.write_text(SPEECH)
    found = wb.from_file(script)
    assert found.report.is_exact
    assert verify(found.graph, str(sounds), 2).exact
    exported = tmp_path / "exported.py"
    exported.write_text(wb.emit_script(with_datasets(found.graph, open_datasets(str(sounds)))).text)
    again = wb.from_file(exported, args={"data": str(sounds)})
    assert again.report.is_exact
    assert [node.op for node in again.graph.nodes] == [node.op for node in found.graph.nodes]


def test_the_export_gives_the_arrays_of_the_original(sounds: Path, tmp_path: Path) -> None:
    script = tmp_path / "speech.py"
    script.write_text(SPEECH)
    pipe = import_script(SPEECH, tmp_path).speech(str(sounds))
    pipe.build()
    graph = wb.from_file(script, source=sounds).graph
    ours = built(import_script(wb.emit_script(graph, wb.load_catalog()).text, tmp_path), sounds)
    for _ in range(2):
        for mine, theirs in zip(ours.run(), pipe.run(), strict=True):
            assert same(arrays_of(mine), arrays_of(theirs))


def test_waves_and_spectrograms_are_drawn(engine: wb.Engine, sounds: Path, tmp_path: Path) -> None:
    script = tmp_path / "speech.py"
    script.write_text(SPEECH)
    graph = wb.from_file(script).graph
    request = wb.PreviewRequest(graph, str(sounds), tiles=3, tile_size=64)
    shown = wb.preview_batch(engine, request)
    assert len(shown.outputs) == 3, "the wave, the spectrogram and the coefficients"
    assert shown.size == (4 * 64, 3 * 64), "and the wave as it was decoded"
    assert "samples of time, up: amplitude" in shown.note
    assert "windows of time, up: 64 bands of frequency" in shown.note
    steps = engine.call(render_steps, request, 0)
    drawn = {step.node for step in steps.steps if any(output.box for output in step.outputs)}
    assert {"mel_filter_bank", "to_decibels", "spectrogram"} <= {graph.node(n).op for n in drawn}


def test_a_loud_moment_stands_where_it_is() -> None:
    samples = np.zeros(1000, np.float32)
    samples[250:260] = 1
    assert is_sound(Batch([samples]), "sound")
    assert not is_sound(Batch([samples]), "label")
    (picture,) = sound_pictures(Batch([samples]))
    loud = np.flatnonzero(picture[10] > 0.5)
    assert 66 in loud
    assert {*loud} <= {0, 1, 2, 3, *range(62, 68)}, "and ticks"
    two = np.stack([samples, -samples], axis=1)
    (picture,) = sound_pictures(Batch([two]))
    half = len(picture) // 2
    assert (picture[10, 66], picture[half + 10, 66]) == (230 / 255, 24 / 255), "one each"
    assert axes_note(Batch([samples, samples[:500]])) == (
        "along: up to 1,000 samples of time, up: amplitude"
    )


def test_low_frequencies_are_below() -> None:
    from nvidia.dali.tensors import TensorCPU, TensorListCPU

    bands = np.zeros((8, 4), np.float32)
    bands[0, -1] = 1
    for layout, values in (("ft", bands), ("tf", np.ascontiguousarray(bands.T))):
        batch = Batch(TensorListCPU([TensorCPU(values, layout)], layout))
        (picture,) = sound_pictures(batch)
        assert (picture[-10, -10], picture[10, -10]) == (1, 0), layout


def test_what_is_no_sound_is_named_and_left_out(engine: wb.Engine, tmp_path: Path) -> None:
    write_sound(tmp_path / "a.wav")
    (tmp_path / "b.wav").write_text("no sound at all")
    (tmp_path / "c.wav").write_bytes((tmp_path / "a.wav").read_bytes()[:30])
    script = tmp_path / "speech.py"
    script.write_text(SPEECH.replace("True, name", "False, name"))
    graph = wb.from_file(script).graph
    shown = wb.preview_batch(engine, wb.PreviewRequest(graph, str(tmp_path), tiles=3))
    faults = {tile.sample.file: tile.sample.error for tile in shown.tiles}
    assert faults["a.wav"] == ""
    assert faults["b.wav"] == "it is not a WAV, FLAC or Ogg file"
    assert faults["c.wav"]
    checked = {file.file: file.reason for file in wb.check_folder(tmp_path).files}
    assert checked["b.wav"] == "it is not a WAV, FLAC or Ogg file"


def test_files_that_a_node_names_are_read_but_by_pages(sounds: Path, tmp_path: Path) -> None:
    script = tmp_path / "named.py"
    script.write_text(NAMED.format(root=str(sounds)))
    found = wb.from_file(script)
    assert found.report.is_exact, str(found.report)
    (read,) = [node for node in found.graph.nodes if node.op == "io.file.read"]
    assert verify(found.graph, str(sounds), 1).exact
    roots = Roots.of([sounds])
    assert [fault.node for fault in root_faults(found.graph, roots)] == [read.id]
    request = wb.PreviewRequest(found.graph, str(sounds), tiles=1)
    with (
        wb.Engine(environment=roots.environment) as kept,
        pytest.raises(DataError, match="can open any file"),
    ):
        wb.preview_batch(kept, request)


def _wav(code: int, bits: int, samples: bytes) -> bytes:
    form = struct.pack("<HHIIHH", min(code, 0xFFFE), 1, RATE, RATE * bits // 8, bits // 8, bits)
    if code > 0xFFFE:  # extensible: the code is in the sub-format
        form += struct.pack("<HHIH", 22, bits, 4, code - 0xFFFE)
        form += bytes.fromhex("000000001000800000aa00389b71")
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form
    body += b"data" + struct.pack("<I", len(samples)) + samples
    return b"RIFF" + struct.pack("<I", len(body)) + body


TONE = 0.5 * np.sin(np.arange(4000) / 6)
WAVS = {
    "8.wav": _wav(1, 8, (TONE * 127 + 128).astype(np.uint8).tobytes()),
    "16.wav": _wav(1, 16, (TONE * 32767).astype("<i2").tobytes()),
    "24.wav": _wav(
        1, 24, (TONE * 2**23).astype("<i4").view(np.uint8).reshape(-1, 4)[:, :3].tobytes()
    ),
    "32.wav": _wav(1, 32, (TONE * 2**31).astype("<i4").tobytes()),
    "float.wav": _wav(3, 32, TONE.astype("<f4").tobytes()),
    "float64.wav": _wav(3, 64, TONE.tobytes()),
    "float_extensible.wav": _wav(0xFFFE + 3, 32, TONE.astype("<f4").tobytes()),
}

FLOATS = {name for name in WAVS if "float" in name}


@pytest.fixture
def wavs(tmp_path: Path) -> Path:
    """A folder with a sound of each format of samples."""
    folder = tmp_path / "wavs"
    folder.mkdir()
    for name, content in WAVS.items():
        (folder / name).write_bytes(content)
    return folder


def decoding(args: dict[str, Value]) -> Graph:
    """Sounds that are decoded with these arguments, all in one batch."""
    nodes = (
        Source("reader", "readers.file", seed=0, kind="sounds"),
        Node("decode", "decoders.audio", args, {"data": Port("reader", "jpegs")}),
    )
    outputs = {"audio": Port("decode", "audio")}
    settings = Settings(batch_size=len(WAVS), num_threads=1)
    return Graph("sound", nodes=nodes, outputs=outputs, settings=settings)


@pytest.mark.parametrize(
    ("args", "silent"),
    [
        ({"dtype": "INT16"}, True),
        ({"dtype": "INT32"}, True),
        ({"dtype": "INT16", "sample_rate": float(RATE)}, True),
        ({"dtype": "INT16", "sample_rate": 8000.0}, False),
        ({"dtype": "FLOAT"}, False),
        ({}, False),
    ],
)
def test_what_would_be_silence_is_named_and_nothing_else(
    args: dict[str, Any], silent: bool, wavs: Path, tmp_path: Path, engine: wb.Engine
) -> None:
    graph = decoding(args)
    shown = wb.preview_batch(engine, wb.PreviewRequest(graph, str(wavs), tiles=len(WAVS)))
    named = {tile.sample.file: tile.sample.error for tile in shown.tiles if tile.sample.error}
    assert named.keys() == (FLOATS if silent else set())
    assert all("set dtype to FLOAT" in error for error in named.values())
    (audio,) = built(import_script(wb.emit_script(graph).text, tmp_path), wavs).run()
    for name, wave_of in zip(sorted(WAVS), arrays_of(audio), strict=True):
        assert (np.abs(wave_of).max() < 2 and args.get("dtype", "FLOAT") != "FLOAT") == (
            silent and name in FLOATS
        ), name


def test_a_check_names_sounds_of_floats(wavs: Path) -> None:
    found = wb.check_folder(str(wavs), full=False)
    assert {file.file for file in found.files} == FLOATS
    assert {file.level for file in found.files} == {"unusual"}
    assert found.counts == {"float sound": 3}


@pytest.mark.parametrize("dtype", ["INT16", "FLOAT"])
def test_an_export_names_sounds_that_it_decodes_to_silence(
    dtype: str, wavs: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "graph.json"
    saved.write_text(wb.dump_graph(decoding({"dtype": dtype})))
    command = ["export", str(saved), "--data", str(wavs), "-o", str(tmp_path / "pipe.py")]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    named = {line.split()[1].strip(":") for line in done.stderr.splitlines() if "silence" in line}
    assert named == (FLOATS if dtype == "INT16" else set())


@pytest.mark.parametrize(
    ("args", "silent"),
    [
        ({"dtype": "INT16"}, True),
        ({"dtype": "INT32"}, True),
        ({"dtype": "FLOAT"}, False),
        ({"dtype": "INT16", "sample_rate": 8_001.0}, False),
    ],
    ids=str,
)
def test_float_sounds_are_a_warning_with_a_fix(
    args: dict[str, Value], silent: bool, wavs: Path
) -> None:
    graph = decoding(args)
    facts = {"data": data_facts(open_dataset(str(wavs)))}
    assert not wb.check_warnings(graph)
    found = wb.check_warnings(graph, facts=facts)
    assert len(found) == silent
    for warning in found:
        assert (warning.node, warning.arg, warning.code) == ("decode", "dtype", "silent")
        assert "decodes 3 WAV files to silence" in str(warning)
        fix = fixes(ResolvedGraph(graph, wb.load_catalog()), warning)[0]
        assert fix.graph.node("decode").args["dtype"] == "FLOAT"
        assert not wb.check_warnings(fix.graph, facts=facts)
