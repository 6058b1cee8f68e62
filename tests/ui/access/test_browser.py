import stat
import webbrowser
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from workbench.ui.access import open_in_browser

LINK = "http://127.0.0.1:5006/?token=secret&more"


def test_the_browser_is_told_the_token_by_a_file_of_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[str] = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(webbrowser, "open", opened.append)
    with open_in_browser(LINK):
        (address,) = opened
        assert "secret" not in address
        page = Path(urlsplit(address).path)
        assert "?token=secret&amp;more" in page.read_text()
        assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
    assert not page.exists()


def test_no_browser_is_opened_where_there_is_no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(webbrowser, "open", lambda address: pytest.fail(address))
    with open_in_browser(LINK):
        pass
