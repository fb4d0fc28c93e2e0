"""Texts that are sealed: who can open them, and where the key is."""

import stat
import threading
from collections.abc import Generator
from pathlib import Path

import keyring
import pytest
from keyring.backends import fail

from satchel.errors import SatchelError
from satchel.support.sealing import Sealer
from tests.upstream.test_credentials import MemoryKeyring


@pytest.fixture(name="memory")
def memory_fixture() -> Generator[MemoryKeyring]:
    before, backend = keyring.get_keyring(), MemoryKeyring()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


def sealer(directory: Path) -> Sealer:
    return Sealer(directory, lambda: "file")


def test_a_sealed_text_can_be_opened_and_not_be_read(tmp_path: Path) -> None:
    sealed = sealer(tmp_path / "keys").seal("a secret \ud800", "arguments of a")

    assert "secret" not in sealed
    assert sealer(tmp_path / "keys").unseal(sealed, "arguments of a") == "a secret \ud800"


def test_the_key_is_its_owners_alone(tmp_path: Path) -> None:
    sealer(tmp_path / "keys").seal("x", "y")
    (file,) = (tmp_path / "keys").iterdir()

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_it_can_not_be_opened_elsewhere_altered_or_with_another_key(tmp_path: Path) -> None:
    ours = sealer(tmp_path / "keys")
    sealed = ours.seal("secret", "arguments of a")

    for other, text, about in (
        (ours, sealed, "arguments of b"),
        (ours, sealed[:-8] + "AAAAAAA=", "arguments of a"),
        (ours, "no base64!", "arguments of a"),
        (sealer(tmp_path / "others"), sealed, "arguments of a"),
    ):
        with pytest.raises(SatchelError, match="can't be opened"):
            other.unseal(text, about)


def test_those_who_begin_at_once_have_one_key(tmp_path: Path) -> None:
    sealed: list[str] = []
    threads = [
        threading.Thread(target=lambda: sealed.append(sealer(tmp_path / "keys").seal("x", "y")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert [sealer(tmp_path / "keys").unseal(one, "y") for one in sealed] == ["x"] * 8


def test_a_key_that_is_damaged_is_not_used(tmp_path: Path) -> None:
    sealer(tmp_path / "keys").seal("x", "y")
    (file,) = (tmp_path / "keys").iterdir()
    file.write_bytes(b"short")

    with pytest.raises(SatchelError, match="5 bytes instead of 32"):
        sealer(tmp_path / "keys").seal("x", "y")


def test_with_a_keyring_the_key_is_in_no_file(tmp_path: Path, memory: MemoryKeyring) -> None:
    sealed = Sealer(tmp_path / "keys", lambda: "keyring").seal("secret", "y")

    assert Sealer(tmp_path / "others", lambda: "keyring").unseal(sealed, "y") == "secret"
    assert len(memory.passwords) == 1
    (kept,) = memory.passwords.values()
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and kept.encode() in file.read_bytes()]
    assert not (tmp_path / "keys" / "sealing.key").exists()


def test_a_key_in_the_keyring_that_is_damaged_or_a_different_one_opens_nothing(
    tmp_path: Path, memory: MemoryKeyring
) -> None:
    sealed = Sealer(tmp_path, lambda: "keyring").seal("secret", "y")
    (place,) = memory.passwords
    for damaged in ("c2hvcnQ=", "no base64!"):
        memory.passwords[place] = damaged
        with pytest.raises(SatchelError, match="in the keyring"):
            Sealer(tmp_path, lambda: "keyring").unseal(sealed, "y")
    del memory.passwords[place]
    with pytest.raises(SatchelError, match="can't be opened"):
        Sealer(tmp_path, lambda: "keyring").unseal(sealed, "y")


def test_a_machine_without_a_keyring_is_told_so(tmp_path: Path) -> None:
    before = keyring.get_keyring()
    keyring.set_keyring(fail.Keyring())
    try:
        with pytest.raises(SatchelError) as caught:
            Sealer(tmp_path, lambda: "keyring").seal("secret", "y")
    finally:
        keyring.set_keyring(before)
    assert "credentials: file" in (caught.value.hint or "")
