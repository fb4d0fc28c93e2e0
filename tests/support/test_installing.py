"""The command that adds an extra, by the traces that installers leave."""

import json
import sys
from pathlib import Path

import pytest

from satchel.model import Json
from satchel.support.installing import how_to_install


def installed(prefix: Path, origin: object = None, *, pip: bool = False) -> Path:
    """An environment with Satchel in it, as far as installers leave traces."""
    packages = prefix / "lib/python3.11/site-packages"
    record = packages / "satchel-1.0.dist-info"
    record.mkdir(parents=True)
    if origin is not None:
        (record / "direct_url.json").write_text(json.dumps(origin))
    if pip:
        (packages / "pip").mkdir()
    return prefix


CHECKOUT: Json = {"url": "file:///home/me/my%20satchel", "dir_info": {}}
EDITABLE: Json = {"url": "file:///home/me/satchel", "dir_info": {"editable": True}}
WHEEL: Json = {"url": "file:///home/me/satchel-1.0-py3-none-any.whl", "archive_info": {}}


@pytest.mark.parametrize(
    ("marker", "command"),
    [("uv-receipt.toml", "uv tool install --force"), ("pipx_metadata.json", "pipx install --force")],
)
def test_a_tool_is_installed_again_from_where_it_came(tmp_path: Path, marker: str, command: str) -> None:
    for name, origin, wanted in (
        ("index", None, "'satchel[typescript]'"),
        ("checkout", CHECKOUT, "'/home/me/my satchel[typescript]'"),
        ("wheel", WHEEL, "'/home/me/satchel-1.0-py3-none-any.whl[typescript]'"),
        ("editable", EDITABLE, "--editable '/home/me/satchel[typescript]'"),
    ):
        prefix = installed(tmp_path / name, origin)
        (prefix / marker).touch()
        assert how_to_install("typescript", prefix) == f"{command} {wanted}"


def test_what_uvx_made_for_one_run_is_asked_for_with_the_extra(tmp_path: Path) -> None:
    prefix = installed(tmp_path / "cache/uv/archive-v0/x1y2", WHEEL)
    assert how_to_install("check", prefix) == (
        "uvx --from '/home/me/satchel-1.0-py3-none-any.whl[check]' satchel"
    )


def test_an_environment_gets_it_with_its_own_pip_or_with_uv_where_it_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = installed(tmp_path / "with pip", pip=True)
    assert how_to_install("check", prefix) == f"{prefix}/bin/python -m pip install 'satchel[check]'"
    pip = prefix / "bin/pip"
    pip.parent.mkdir()
    pip.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(pip.parent))
    assert how_to_install("check", prefix) == "pip install 'satchel[check]'"
    prefix = installed(tmp_path / "of-uv")
    assert how_to_install("check", prefix) == f"uv pip install --python {prefix}/bin/python 'satchel[check]'"


def test_this_installation_is_told_by_itself() -> None:
    assert how_to_install("check") == how_to_install("check", Path(sys.prefix))
    assert how_to_install("check").endswith("[check]'")
