"""The same clicks in a real JupyterLab and a real Panel app."""

import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.hosts import (
    PATIENCE,
    Host,
    LabHost,
    PanelHost,
    await_mean,
    await_picture,
    await_python,
    drag,
    open_page,
    part,
    point,
    preview_control,
    quick_in_lab,
    small,
)
from workbench.emit.targets import export
from workbench.graph import dump_graph

pytestmark = pytest.mark.browser


def tab(page: Page, name: str) -> None:
    part(page, "tabs").get_by_role("tab", name=name).click()
    expect(part(page, name.lower())).to_be_visible()


def argument(page: Page, name: str) -> Locator:
    return part(page, "inspector").locator(f"[data-arg={name}]")


def slide(slider: Locator, start: float, end: float) -> None:
    """Move a slider's thumb with the mouse; both places are shares of its width."""
    drag(slider.page, point(slider, start), point(slider, end))


def test_from_photos_to_a_script_that_runs(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
    before = await_mean(page)

    # Add an operator through "/".
    canvas = part(page, "canvas")
    canvas.locator("[data-node=flip]").click()
    expect(part(page, "inspector")).to_have_attribute("data-node", "flip")
    page.keyboard.press("/")
    canvas.get_by_role("combobox").fill("brightn")
    page.keyboard.press("Enter")
    added = canvas.locator("[data-node=brightness_2]")
    expect(added).to_have_attribute("aria-current", "true")
    expect(added).to_contain_text("224×224×3 u8")

    # Move its slider: the pixels get brighter.
    slider = argument(page, "brightness").get_by_role("slider")
    expect(slider).to_have_value("1.3")
    slide(slider, 1.3 / 3, 0.99)
    assert await_mean(page, least=before + 40) > before
    argued = "model.graph.node('brightness_2').args['brightness']"
    value = float(slider.input_value())
    assert value > 2.5
    await_python(host, argued, lambda held: held == value)
    expect(argument(page, "brightness").get_by_role("spinbutton")).to_have_value(f"{value:g}")

    # Measure.
    tab(page, "Speed")
    speed = part(page, "speed")
    speed.get_by_label("Threads", exact=True).fill("1")
    speed.get_by_label("Threads", exact=True).press("Enter")
    speed.get_by_role("radio", name="Quick look").first.click()
    speed.locator("[data-part=compare] [data-wb=measure]").click()
    expect(speed.get_by_role("progressbar")).to_be_visible()
    figure = speed.locator("[data-part=compare] [data-wb=figure]")
    expect(figure).to_have_attribute("data-bars", "4", timeout=PATIENCE)
    expect(speed.get_by_role("progressbar")).to_be_hidden(timeout=PATIENCE)  # till then partial
    cpu, mixed = host.python("model.shown('speed', 'compare')['bars'][2:]")
    assert cpu["reason"] == ""
    assert cpu["median"] > 0
    assert cpu["settings"].startswith("batch 4 · 1 thread · prefetch 2")
    expect(speed).to_contain_text(cpu["figure"])
    if mixed["reason"]:
        expect(speed).to_contain_text(mixed["reason"].removeprefix("not measured: "))

    # Read the code, save it, run it.
    tab(page, "Code")
    code = part(page, "code")
    expect(code.locator("[data-highlighted]").first).to_contain_text("fn.brightness(")
    shown = code.locator("[data-wb=source]").inner_text()
    code.locator("[data-wb=path]").fill("pipe.py")
    code.locator("[data-wb=save]").click()
    expect(code.locator("[data-wb=message]")).to_contain_text(str(host.work / "pipe.py"))
    script = host.work / "pipe.py"
    saved, _, graph = script.read_text().partition("\n\n# The graph of this program")
    assert graph, "the graph is saved with its program"
    assert saved == host.python("model.shown('code', 'files')[0]['text']")
    assert "".join(shown.split()) == "".join(saved.split())
    run = subprocess.run(
        [sys.executable, str(script), "--data", str(photos), "--batches", "3"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert re.fullmatch(r"\d+ imgs/s\n", run.stdout)


@quick_in_lab
def test_a_drag_is_one_undo_and_keys_stay_in_the_workbench(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
    start = await_mean(page)
    before = host.python("str(model.graph)")

    part(page, "canvas").locator("[data-node=rotate]").click()
    low = argument(page, "angle").get_by_role("slider").first
    slide(low, 0.375, 0.02)
    expect(argument(page, "angle").get_by_role("spinbutton").first).not_to_have_value("-10")
    await_python(host, "str(model.graph)", lambda now: now != before)
    part(page, "canvas").locator("[data-node=rotate]").click()
    for key in ("x", "d", "d", "Shift+M"):  # cut, delete and merge cells in JupyterLab
        page.keyboard.press(key)
    page.keyboard.press("Control+z")
    expect(argument(page, "angle").get_by_role("spinbutton").first).to_have_value("-10")
    await_python(host, "str(model.graph)", lambda now: now == before)
    expect(part(page, "bar").get_by_role("button", name="Undo")).to_be_disabled()
    page.keyboard.press("Control+Shift+Z")
    expect(argument(page, "angle").get_by_role("spinbutton").first).not_to_have_value("-10")
    page.keyboard.press("Control+z")
    assert await_mean(page, start - 0.001, start + 0.001) == start

    # Nor do they leave it after a click on a button that the click itself hides.
    part(page, "inspector").locator("[data-wb=with-probability]").click()
    await_python(host, "model.graph.has('branch')", bool)
    if isinstance(host, LabHost):
        expect(part(page, "inspector")).to_be_focused()
    page.keyboard.press("Control+z")
    await_python(host, "str(model.graph)", lambda now: now == before)


@pytest.mark.thorough
def test_a_bad_value_is_named_and_the_picture_stays(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small("imagenet-eval"))
    start = await_mean(page)
    preview = part(page, "preview")
    part(page, "canvas").locator("[data-node=resize]").click()
    field = argument(page, "mode").get_by_role("combobox")
    expect(field).to_be_visible()
    part(page, "inspector").locator("[data-wb=more]").click()
    size = argument(page, "max_size").get_by_role("textbox")
    size.fill("left, top")
    size.press("Enter")
    error = part(page, "inspector").locator("[data-wb=row-error]")
    expect(error).to_contain_text("'left, top' is not a number")
    expect(preview.locator("[data-wb=stale]")).to_contain_text("resize.max_size")
    expect(part(page, "bar").locator("[data-wb=status]")).to_have_text("1 fault")
    assert await_mean(page) == start

    part(page, "bar").locator("[data-wb=undo]").click()
    expect(preview.locator("[data-wb=stale]")).to_be_hidden()
    expect(part(page, "bar").locator("[data-wb=status]")).to_contain_text("ready")


@pytest.mark.thorough
def test_a_folder_is_opened_and_its_bad_files_are_shown(
    host: Host, photos: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("mixed")
    good = sorted(photos.rglob("*.jpg"))[:3]
    for number, path in enumerate(good):
        (folder / f"good{number}.jpg").write_bytes(path.read_bytes())
    (folder / "words.jpg").write_text("these are words")
    host.open(photos, small())
    page = host.page
    tab(page, "Data")
    data = part(page, "data")
    data.locator("[data-wb=folder]").fill(str(folder / "gone"))
    data.locator("[data-wb=open]").click()
    expect(data.locator("[data-wb=error]")).to_contain_text("gone")
    data.locator("[data-wb=folder]").fill(str(folder))
    data.locator("[data-wb=open]").click()
    expect(data).to_have_attribute("data-count", "4")
    data.locator("[data-wb=check]").click()
    expect(data.locator("[data-wb=findings]")).to_contain_text("words.jpg")
    expect(data.locator("[data-wb=findings]")).to_contain_text("text, not an image")
    tab(page, "Preview")
    bad = part(page, "preview").locator("[data-error]")
    expect(bad).to_have_count(1, timeout=PATIENCE)
    expect(bad).to_contain_text("words.jpg")
    assert host.python("model.state.preview.tiles[0].index") == 0


@pytest.mark.thorough
def test_a_cell_sets_the_graph_and_a_running_cell_stops_nothing(lab: LabHost, photos: Path) -> None:
    wait = "import pathlib\nwhile not pathlib.Path('go').exists():\n    pass"
    lab.open(photos, small(), f"w.graph = 'simclr'\n{wait}\nprint('went')")
    page = lab.page
    # The last cell runs on and on, and the widgets live: Lab talks to them on another thread.
    expect(part(page, "bar").locator("[data-wb=title]")).to_have_text("simclr", timeout=PATIENCE)
    tiles = part(page, "preview").locator("[data-wb=tile]").first.locator("canvas")
    expect(tiles).to_have_count(3, timeout=PATIENCE)  # the original and two views
    expect(part(page, "bar").locator("[data-wb=status]")).to_contain_text("ready")
    sheet = part(page, "preview").get_attribute("data-sheet")
    preview_control(page, "batch-next").click()
    expect(part(page, "preview")).to_have_attribute("data-batch", "1", timeout=PATIENCE)
    expect(part(page, "preview")).not_to_have_attribute("data-sheet", str(sheet))
    assert page.get_by_text("went", exact=True).count() == 0

    (lab.work / "go").touch()
    expect(page.get_by_text("went", exact=True)).to_be_visible()
    (lab.work / "go").unlink()
    assert lab.python("model.state.batch") == 1
    assert lab.python("model.history.can_undo")
    assert lab.server.evaluate("'simclr' in w.code.source")


@pytest.mark.thorough
@pytest.mark.parametrize("shown", ["w", "w.preview"])
def test_a_notebook_keeps_a_picture_for_when_no_kernel_runs(
    lab: LabHost, photos: Path, shown: str
) -> None:
    (lab.work / "start.json").write_text(dump_graph(small()))
    cell = f"import workbench as wb\nw = wb.Workbench({str(photos)!r}, 'start.json')\n{shown}"
    lab.server.open(lab.page, [cell])
    page = lab.page
    await_picture(page)
    still = page.locator(".wb-static-snapshot")
    expect(still).to_have_count(1)
    expect(still).to_be_hidden()
    expect(still).to_contain_text("4 samples of batch 0: original")
    preview_control(page, "batch-next").click()
    expect(still).to_contain_text("4 samples of batch 1: original", timeout=PATIENCE)
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    lab.server.end_kernels()
    lab.server.reopen(page)
    images = page.locator(".wb-static-snapshot img")
    expect(images).to_have_count(5)  # the graph and four samples
    image = images.last
    expect(image).to_be_visible()
    expect(image).not_to_have_js_property("naturalWidth", 0)  # it is decoded a moment later
    assert image.evaluate("image => image.naturalWidth") > 300
    assert (lab.work / "test.ipynb").stat().st_size < 200_000


@pytest.mark.thorough
def test_light_and_dark_follow_the_host(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
    for name in ("bar", "canvas", "preview"):
        expect(part(page, name)).to_have_attribute("data-theme", "light")
    if isinstance(host, LabHost):
        change = "() => window.jupyterapp.commands.execute('apputils:change-theme', {theme: '%s'})"
        page.evaluate(change % "JupyterLab Dark")
    else:
        page.emulate_media(color_scheme="dark")
    for name in ("bar", "canvas", "preview"):
        expect(part(page, name)).to_have_attribute("data-theme", "dark")
    expect(part(page, "bar")).to_have_css("background-color", "rgb(22, 25, 31)")
    if isinstance(host, LabHost):
        page.evaluate(change % "JupyterLab Light")
        expect(part(page, "bar")).to_have_attribute("data-theme", "light")


@pytest.mark.thorough
def test_each_page_of_the_app_is_its_own_and_ends_with_its_session(
    panel: PanelHost, photos: Path
) -> None:
    page = open_page(panel, photos, small())
    other = page.context.new_page()
    other.goto(panel.url)
    await_picture(other)
    other.keyboard.press("Control+z")
    part(other, "bar").locator("[data-wb=recipes]").click()
    part(other, "bar").locator("[data-wb=recipe][data-name=simclr]").click()
    expect(part(other, "bar").locator("[data-wb=title]")).to_have_text("simclr")
    expect(part(page, "bar").locator("[data-wb=title]")).to_have_text("rotate-jitter")
    first, second = panel.sessions
    assert (first.model.graph.name, second.model.graph.name) == ("rotate-jitter", "simclr")
    assert first.model.engine.pid
    assert first.model.engine.pid != second.model.engine.pid

    ended = threading.Event()
    close = second.model.close
    second.model.close = lambda **how: (close(**how), ended.set())  # type: ignore[method-assign,func-returns-value]
    other.close()
    assert ended.wait(60)
    assert second.model.engine.pid is None
    assert first.model.engine.pid


@pytest.mark.thorough
def test_the_app_saves_where_it_says_and_asks_before_it_overwrites(
    panel: PanelHost, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(panel.work))
    panel.server.roots = None
    (panel.work / "here.py").write_text("mine")
    page = open_page(panel, photos, small())
    part(page, "bar").locator("[data-wb=export]").click()
    rows = part(page, "bar").locator("[data-wb=target-row]")
    rows.and_(page.locator("[data-name=script]")).click()
    code = part(page, "code")
    expect(code.locator("[data-wb=save-folder]")).to_have_text(f"in {panel.work}")
    code.locator("[data-wb=path]").fill("../escaped.py")
    code.locator("[data-wb=save]").click()
    expect(code.locator("[data-wb=message]")).to_contain_text("Cannot write to ")
    assert not (panel.work.parent / "escaped.py").exists()

    code.locator("[data-wb=path]").fill("here.py")
    code.locator("[data-wb=save]").click()
    expect(code.locator(".wb-overwrite:visible")).to_contain_text("here.py already exists")
    assert (panel.work / "here.py").read_text() == "mine"
    code.locator("[data-wb=overwrite]:visible").click()
    expect(code.locator("[data-wb=message]")).to_have_text(f"Saved {panel.work / 'here.py'}")
    (session,) = panel.sessions
    script = export(small(), data=session.model.data_panel.datasets)
    assert script.named is not None
    text = script.named("here.py").main.text
    assert (panel.work / "here.py").read_text() == text

    with page.expect_download() as download:
        code.locator("[data-wb=download]").click()
    assert download.value.suggested_filename == "here.py"
    assert download.value.path().read_text() == text
