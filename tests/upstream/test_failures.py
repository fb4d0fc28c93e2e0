"""What a server's standard error says about why it ended."""

import sys
from pathlib import Path

import pytest

from satchel.upstream.failures import most_telling
from tests.projects import Project

NPM = """npm error code E404
npm error 404 Not Found - GET https://registry.example/@scope%2fserver - Not found
npm error 404
npm error 404  '@scope/server@*' is not in this registry.
npm notice New version of npm available!
npm error A complete log of this run can be found in: /home/me/.npm/_logs/debug-0.log"""
DOCKER = """docker: Error response from daemon: pull access denied for mcp/none, repository does not exist.

Run 'docker run --help' for more information"""
NODE = """node:internal/modules/cjs/loader:1228
  throw err;
  ^

Error: Cannot find module '/srv/index.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1225:15)
    at node:internal/main/run_main_module:28:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v20.18.1"""
PYTHON = """error: the cache is stale, trying again
Traceback (most recent call last):
  File "server.py", line 1, in <module>
    raise KeyError("DATABASE_URL")
KeyError: 'DATABASE_URL'"""


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (NPM, "npm error 404 Not Found - GET https://registry.example/@scope%2fserver - Not found"),
        (DOCKER, DOCKER.splitlines()[0]),
        (NODE, "Error: Cannot find module '/srv/index.js'"),
        (PYTHON, "KeyError: 'DATABASE_URL'"),
        ("starting\nset API_KEY first\nhint: export API_KEY", "set API_KEY first"),
        ("usage: server [-h]\nserver: error: --root is required", "server: error: --root is required"),
        ("usage: server ROOT", "usage: server ROOT"),
        ("", ""),
    ],
)
def test_the_most_telling_line_is_the_reason(written: str, said: str) -> None:
    assert most_telling(written.splitlines()) == said


@pytest.mark.e2e
def test_the_reason_of_a_failed_server_is_not_where_its_log_is(tmp_path: Path) -> None:
    program = f"import sys; sys.stderr.write({NPM!r}); sys.exit(1)"
    outcome = Project(tmp_path, {"npm": {"command": sys.executable, "args": ["-c", program]}}).run("list")
    assert "npm: exited with code 1: npm error 404 Not Found" in outcome.err
    assert "complete log" not in outcome.err
