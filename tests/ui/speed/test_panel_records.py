"""Records in the speed panel: opened beside each other, kept, found again, given to the browser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench.fakes import measured, report
from tests.ui.speed.conftest import Bed, Fake
from workbench.bench.records.record import FORMAT, dump_report, load_report
from workbench.errors import GraphEditError
from workbench.ui.contract.actions.speed import Adopt


def test_a_record_that_cannot_be_kept_is_told_at_the_start(
    bed: Bed, fake: Fake, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    bed.speed.store.folder = tmp_path / "file" / "records"
    fake.hold = True
    bed.do("measure", what="compare")
    assert fake.holding.wait(30)
    assert ". The record will not be kept: " in bed["message"]
    assert "Not a directory" in bed["message"]
    bed.do("cancel")
    bed.wait(lambda bed: not bed["running"], "the end")
    assert bed["message"].startswith("The record is not kept: ")


def gpu_record() -> str:
    rows = measured(1000.0), measured(9000.0, device="mixed")
    extra = {"decoders": {"images": 64, "mean": 0.4, "greatest": 12.0, "share": 0.3}}
    return dump_report(report(*rows, created="2026-11-20T10:00:00+00:00", extra=extra))


def test_a_record_of_another_machine_is_opened_beside_this_one(bed: Bed) -> None:
    bed.run(what="compare")
    bed.do("open", text=gpu_record(), name="h200.json")
    assert (bed["message"], bed["failed"]) == ("Opened h200.", False)
    view = bed["compare"]
    assert [on["name"] for on in view["on"]][1] == "h200"
    assert {bar["source"] for bar in view["bars"]} == {"this machine", "h200"}
    texts = [ratio["text"] for ratio in view["ratios"]]
    assert texts[0] == "Mixed is 9.00 × CPU (h200)"
    assert texts[1].startswith("Mixed (h200) is ")
    assert texts[1].endswith("× CPU (this machine)")
    assert any("0.400 apart on average" in words for words in view["notes"])
    assert any(words.startswith("The machines differ") for words in view["notes"])
    assert bed["overlay"] == view["on"][1]["id"]
    assert bed.speed.set("overlay", "")
    assert len(bed["compare"]["on"]) == 1


def test_a_record_alone_is_shown_by_itself(bed: Bed) -> None:
    bed.do("open", text=gpu_record(), name="h200.json")
    (on,) = bed["compare"]["on"]
    assert "another machine" in on["earlier"]
    assert bed["overlay"] == ""
    bed.do("open", text=gpu_record(), name="h200.json")
    assert len(bed["records"]) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no", "This is not JSON"),
        ('{"format": "x"}', "This is no record of measurements"),
        (json.dumps({"format": FORMAT, "version": 9}), "of version 9"),
        (json.dumps({"format": FORMAT, "version": 2}), "has no 'data'"),
        (gpu_record().replace('"seconds": 1.0', '"seconds": "x"'), "damaged"),
        (gpu_record().replace('"seconds": 1.0', '"seconds": 0'), "damaged"),
        (gpu_record().replace('"mean": 0.4', '"mean": NaN'), "damaged"),
        (" " * 16_000_001, "at most 16,000,000"),
    ],
)
def test_what_is_no_record_is_refused(bed: Bed, text: str, words: str) -> None:
    bed.do("open", text=text, name="x.json")
    assert bed["failed"]
    assert words in bed["message"]
    assert bed["records"] == []


def test_records_are_listed_named_compared_and_dropped(bed: Bed) -> None:
    bed.run(what="compare")
    bed.do("open", text=gpu_record(), name="h200.json")
    newest, oldest = bed["records"]
    assert (newest["elsewhere"], oldest["elsewhere"]) == (False, True)
    assert newest["shown"]
    assert bed.speed.set("selected_records", [newest["id"], oldest["id"]])
    pairs = bed["comparison"]["pairs"]
    assert [pair["name"] for pair in pairs] == ["cpu, pipeline"]
    assert pairs[0]["verdict"] == "faster"
    assert bed["comparison"]["only"]
    bed.do("rename", record=newest["id"], to=" mine ")
    assert bed["records"][0]["name"] == "mine"
    bed.do("rename", record=newest["id"], to="x" * 81)
    assert "at most 80" in bed["message"]
    bed.do("delete", record=oldest["id"])
    assert [entry["name"] for entry in bed["records"]] == ["mine"]
    assert (bed["overlay"], bed["comparison"]) == ("", {})
    bed.do("delete", record=oldest["id"])
    assert "There is no record" in bed["message"]


def test_records_come_back_and_those_of_others_are_found(bed: Bed, photos: Path) -> None:
    bed.run(what="compare")
    folder = bed.speed.store.folder
    assert folder is not None
    (folder / "broken.json").write_text("{")
    later = Bed(str(photos), folder)
    later.wait(lambda bed: bed["records"], "the record")
    assert [r["id"] for r in later["records"]] == [r["id"] for r in bed["records"]]
    later.do("open", text=gpu_record(), name="h200.json")
    assert bed.speed.set("part", "records")
    bed.wait(lambda bed: len(bed["records"]) == 2, "the record of the other")
    assert (folder / "broken.json").exists()


def test_files_for_the_browser(bed: Bed) -> None:
    bed.do("export", kind="csv", ids=[], view="v")
    bed.wait(lambda bed: bed["failed"], "the refusal")
    assert bed["message"] == "There is no record yet."
    bed.run(what="compare")
    key = bed["records"][0]["id"]
    for count, (kind, starts) in enumerate(
        {"csv": b"record,", "json": b"{", "png": b"\x89PNG", "svg": b"<?xml"}.items(), 1
    ):
        bed.do("export", kind=kind, ids=[key], view="v")

        def made(bed: Bed, count: int = count) -> bool:
            return bool(bed["file"]) and header(bed)["n"] == count

        bed.wait(made, kind)
        assert header(bed)["name"].endswith(f".{kind}")
        assert header(bed)["view"] == "v"
        assert payload(bed).startswith(starts)
    bed.do("export", kind="json", ids=[key], view="v")
    bed.wait(lambda bed: header(bed)["n"] == 5, "the record")
    assert load_report(payload(bed).decode()) == bed.speed.store.require(key)
    bed.do("export", kind="gif", ids=[key])
    bed.wait(lambda bed: bed["failed"], "the refusal")
    assert "csv, json, png, svg" in bed["message"]


def header(bed: Bed) -> dict[str, object]:
    file = bed["file"]
    found: dict[str, object] = json.loads(file[4 : 4 + int.from_bytes(file[:4], "little")])
    return found


def payload(bed: Bed) -> bytes:
    file: bytes = bed["file"]
    return file[4 + int.from_bytes(file[:4], "little") :]


def test_adopting_from_a_gpu_keeps_the_cpu_where_there_is_none(bed: Bed) -> None:
    bed.do("open", text=gpu_record(), name="h200.json")
    adopted = bed.speed.adopt(Adopt(bed["records"][0]["id"]), bed.graph)
    assert adopted.settings.device == "cpu"
    assert "still decoded on the CPU: there is no GPU" in bed["message"]
    with pytest.raises(GraphEditError, match="no record"):
        bed.speed.adopt(Adopt("x"), bed.graph)
