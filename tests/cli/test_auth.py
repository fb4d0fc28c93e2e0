"""auth: a login through the browser, as the person at the command line lives it."""

import sys
from pathlib import Path

import pytest

from tests.projects import Project
from tests.servers import http_server, oauth_server, raw
from tests.upstream.helpers import lines

pytestmark = [pytest.mark.anyio, pytest.mark.e2e, pytest.mark.slow]


def browser(directory: Path) -> dict[str, str]:
    """A browser that follows redirects and shows nothing."""
    script = directory / "browser.py"
    script.write_text("import sys, urllib.request\nurllib.request.urlopen(sys.argv[1], timeout=60).read()\n")
    return {"BROWSER": f"{sys.executable} {script} %s"}


async def test_log_in_use_and_log_out(tmp_path: Path, own_home: Path) -> None:
    log = tmp_path / "log"
    async with oauth_server(log=log) as url:
        project = Project(tmp_path / "project", {"remote": {"url": url}, "local": raw("good")})
        before = project.run("call", "remote.echo", "text=x")
        assert before.code == 4
        assert "satchel auth remote" in before.err
        login = project.run("auth", "remote", environment=browser(tmp_path))
        assert login.code == 0, login.err
        assert "logged in" in login.out
        assert "open this address" in login.err
        assert project.run("call", "remote.echo", "text=in").out == "in\n"
        assert project.run("auth", "remote", "--logout").code == 0
        assert project.run("call", "remote.echo", "text=x").code == 4
        assert project.run("auth", "local").code == 2
    assert lines(log).count("authorize") == 1
    assert not list((own_home / ".local/share/satchel/credentials").glob("*.json"))
    assert not list(project.directory.rglob("*token*"))


async def test_a_refused_login_says_so_without_a_traceback(tmp_path: Path) -> None:
    async with oauth_server(deny=1) as url:
        project = Project(tmp_path, {"remote": {"url": url}})
        login = project.run("auth", "remote", environment=browser(tmp_path))
    assert login.code == 4
    assert "the login failed" in login.err
    assert "Traceback" not in login.err


@pytest.mark.parametrize("elsewhere", ["401", "404"])
async def test_a_server_that_wants_a_key_and_has_no_login_is_not_to_be_logged_in_to_again(
    tmp_path: Path, elsewhere: str
) -> None:
    async with http_server(token="canary-key", elsewhere=elsewhere) as url:
        project = Project(tmp_path, {"keyed": {"url": url}})
        login = project.run("auth", "keyed", environment=browser(tmp_path))
    assert login.code == 4
    assert "offers no login" in login.err
    assert "`headers`" in login.err
    assert "satchel auth" not in login.err
    assert "type: sse" not in login.err
    assert "Traceback" not in login.err
