"""The results panel: results of tools and of files, in the view model and in both hosts."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.ui.conftest import Make
from tests.ui.hosts import Host, LabHost, await_picture, open_page, part, small
from workbench import results
from workbench.results import ResultDocument, ResultPicture, ResultTable, record_result
from workbench.roots import Roots
from workbench.ui import web
from workbench.ui.results.panel import LARGEST


@pytest.fixture(autouse=True)
def no_earlier_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "_RESULTS", type(results._RESULTS)(maxlen=results.MOST_RESULTS))


def png() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (40, 20), (200, 90, 30)).save(buffer, "PNG")
    return buffer.getvalue()


def example(title: str = "Watch of train.py", rows: int = 3) -> ResultDocument:
    table = ResultTable("Steps", ("step", "ms"), tuple((f"<i>{n}", 12345.678) for n in range(rows)))
    sentences = ("The model is the limit: <b>at most 1.07x</b>.", "200 steps were measured.")
    pictures = (ResultPicture("Time per step", png()), ResultPicture("Damaged", b"<svg/>"))
    return ResultDocument("watch", title, sentences, (table,), pictures)


def test_results_of_this_kernel_appear_with_the_newest_first(make: Make) -> None:
    record_result(example("Earlier"))
    model, screen = make()
    record_result(example("Now"))
    assert [each["title"] for each in screen["results", "entries"]] == ["Now", "Earlier"]
    shown = screen["results", "shown"]
    assert (shown["title"], shown["sentences"][1]) == ("Now", "200 steps were measured.")
    assert shown["tables"][0]["rows"][0] == ["<i>0", "12,346"]
    assert shown["tables"][0]["numbers"] == [False, True]
    assert results.cell_text(6.969e-05) == "0.00006969"
    assert [each["source"][:15] for each in shown["pictures"]] == ["data:image/png;", ""]

    older = screen["results", "entries"][1]["id"]
    model.act("results", {"do": "show", "result": older})
    assert screen["results", "shown"]["title"] == "Earlier"
    model.act("results", {"do": "remove", "result": older})
    assert screen["results", "shown"]["title"] == "Now"
    model.act("results", {"do": "show", "result": older})
    assert screen["bar", "message"] == "This result was removed from the list."
    model.close()
    record_result(example("After the end"))
    assert len(screen["results", "entries"]) == 1


def test_pages_of_the_app_do_not_show_results_of_other_users(make: Make, photos: Path) -> None:
    _, screen = make(roots=Roots.of([photos]))
    record_result(example())
    assert screen["results", "entries"] == []


def test_results_of_the_command_line_are_on_each_page(photos: Path) -> None:
    session = web.Session(photos, None, Roots.of([photos]))
    times = {"First": "2026-11-29T10:00:00Z", "Newest": "2026-11-30T09:00:00Z", "Old": "2026-01-01"}
    session.show_results([replace(example(name), created=time) for name, time in times.items()])
    fields = session.model.results.fields()
    assert [each["title"] for each in fields["entries"]] == ["Newest", "First", "Old"]
    assert fields["shown"]["title"] == "First"
    assert session.model.state.tab == "results"
    session.model.close()


def test_long_tables_are_cut(make: Make) -> None:
    _, screen = make()
    record_result(example(rows=500))
    (table,) = screen["results", "shown"]["tables"]
    assert (len(table["rows"]), table["more"]) == (200, 300)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "other.json: The file is not a result. Open a file written by result.save(path)."),
        ("[]", "The file is not a result"),
        ("{}", "The file has format"),
        (" " * (LARGEST + 1), "at most 16,000,000 are allowed"),
    ],
)
def test_a_file_that_is_no_result_is_refused(make: Make, text: str, message: str) -> None:
    model, screen = make()
    model.act("results", {"do": "open", "text": text, "name": "other.json"})
    assert message in screen["results", "message"]
    assert screen["results", "entries"] == []
    text = json.dumps(example().to_json())
    model.act("results", {"do": "open", "text": text, "name": "mine.json"})
    assert (screen["results", "message"], len(screen["results", "entries"])) == ("", 1)


@pytest.mark.browser
def test_a_file_is_opened_and_shown_as_text(host: Host, photos: Path, tmp_path: Path) -> None:
    saved = example("Result <u>of</u> a file").save(tmp_path / "result.json")
    page = open_page(host, photos, small())
    await_picture(page)
    part(page, "tabs").get_by_role("tab", name="Results").click()
    panel = part(page, "results")
    expect(panel).to_contain_text("No results yet.")
    panel.locator("[data-wb=open-file]").set_input_files(saved)
    shown = panel.locator("[data-wb=shown]")
    expect(shown.get_by_role("heading")).to_have_text("Result <u>of</u> a file")
    expect(shown.get_by_role("cell", name="<i>0")).to_be_visible()
    expect(shown.get_by_role("img", name="Time per step")).to_have_js_property("naturalWidth", 40)
    expect(shown).to_contain_text("This picture is not a PNG, JPEG or WebP file.")
    if isinstance(host, LabHost):  # a tool in another cell
        code = (
            "import workbench.results as r; r.record_result(r.ResultDocument('audit', 'Live', ()))"
        )
        host.server.evaluate(f"exec({code!r})")
        expect(panel.locator("[data-wb=entry]").first).to_contain_text("Live")
        expect(shown.get_by_role("heading")).to_have_text("Live")
        panel.get_by_role("button", name="Remove Live").click()
    expect(panel.locator("[data-wb=entry]")).to_have_count(1)
    panel.get_by_role("button", name="Remove Result").click()
    expect(panel).to_contain_text("No results yet.")
