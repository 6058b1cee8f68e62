import stat
from pathlib import Path

import pytest

from workbench.ui.access import AccessCookie


def test_a_browser_stays_in_when_the_server_starts_again(tmp_path: Path) -> None:
    value = AccessCookie(tmp_path, "", 5006).make()
    assert AccessCookie(tmp_path, "", 5006).is_good(value)
    secret = tmp_path / "cookie-secret"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600


def test_no_cookie_is_good_elsewhere(tmp_path: Path) -> None:
    here = AccessCookie(tmp_path, "", 5006)
    value = here.make()
    assert not AccessCookie(tmp_path, "", 5007).is_good(value)
    assert not AccessCookie(tmp_path, "another token", 5006).is_good(value)
    assert not AccessCookie(tmp_path / "another-user", "", 5006).is_good(value)
    for forged in (None, "", "in", value[:-1], value.replace("1:0", "2:0"), value + "0", "é"):
        assert not here.is_good(forged)


@pytest.mark.parametrize("kind", ["readable", "short", "link", "folder"])
def test_a_secret_that_others_may_know_is_not_used(tmp_path: Path, kind: str) -> None:
    secret, known = tmp_path / "cookie-secret", tmp_path / "known"
    known.write_bytes(bytes(32))
    known.chmod(0o600)
    match kind:
        case "readable":
            secret.write_bytes(bytes(32))
            secret.chmod(0o644)
        case "short":
            secret.write_bytes(b"")
            secret.chmod(0o600)
        case "link":
            secret.symlink_to(known)
        case "folder":
            secret.mkdir()
    value = AccessCookie(tmp_path, "", 5006).make()
    assert not AccessCookie(tmp_path, "", 5006).is_good(value)  # each has one of its own
