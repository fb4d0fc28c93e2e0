"""Where tokens are kept: a private file, or the system keyring."""

import stat
from collections.abc import Generator
from pathlib import Path

import keyring
import keyring.backend
import pytest
from keyring.backends import fail
from keyring.errors import PasswordDeleteError

from satchel.errors import SatchelError
from satchel.upstream.credentials import Credentials

URL = "https://a.example/mcp"


class MemoryKeyring(keyring.backend.KeyringBackend):
    """A keyring that works, for the length of a test."""

    priority = 1  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def __init__(self) -> None:
        super().__init__()
        self.passwords: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.passwords.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.passwords[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.passwords.pop((service, username), None) is None:
            raise PasswordDeleteError("not there")


@pytest.fixture
def memory() -> Generator[MemoryKeyring]:
    before, backend = keyring.get_keyring(), MemoryKeyring()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


def test_a_file_is_private_and_values_are_merged_and_removed(tmp_path: Path) -> None:
    credentials = Credentials(tmp_path / "credentials", URL)
    credentials.save(tokens={"a": 1}, client={"b": 2})
    credentials.save(client=None)
    assert credentials.load() == {"tokens": {"a": 1}}
    (file,) = (tmp_path / "credentials").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert credentials.forget()
    assert not credentials.forget()
    assert credentials.load() == {}


def test_servers_do_not_see_each_others_tokens(tmp_path: Path) -> None:
    Credentials(tmp_path, URL).save(tokens={"a": 1})
    assert Credentials(tmp_path, URL + "/other").load() == {}


def test_a_damaged_file_is_no_login(tmp_path: Path) -> None:
    credentials = Credentials(tmp_path, URL)
    credentials.save(tokens={"a": 1})
    next(tmp_path.glob("*.json")).write_text("{")
    assert credentials.load() == {}


def test_the_keyring_keeps_them_out_of_files(tmp_path: Path, memory: MemoryKeyring) -> None:
    credentials = Credentials(tmp_path / "credentials", URL, "keyring")
    credentials.save(tokens={"a": 1})
    assert credentials.load() == {"tokens": {"a": 1}}
    assert len(memory.passwords) == 1
    assert not list(tmp_path.rglob("*.json"))
    assert credentials.forget()
    assert credentials.load() == {}


def test_a_machine_without_a_keyring_is_told_so(tmp_path: Path) -> None:
    before = keyring.get_keyring()
    keyring.set_keyring(fail.Keyring())
    try:
        with pytest.raises(SatchelError) as caught:
            Credentials(tmp_path, URL, "keyring").load()
    finally:
        keyring.set_keyring(before)
    assert "credentials: file" in (caught.value.hint or "")
