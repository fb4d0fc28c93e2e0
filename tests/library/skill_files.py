"""Skills on disk and in archives, for tests."""

import io
import os
import threading
import zipfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

SKILL = "---\nname: {name}\ndescription: {description}\n---\n\nDo it.\n"
PLUGINS = Path(__file__).resolve().parents[3] / "shared" / "data" / "plugins"
NO_PLUGINS = "../shared/data/plugins is not here"


def text_of(name: str = "demo", description: str = "Does what it says.") -> str:
    return SKILL.format(name=name, description=description)


def make_skill(folder: Path, name: str | None = None, description: str = "Does what it says.") -> Path:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text_of(name or folder.name, description))
    return folder


def real_skills() -> list[Path]:
    """The folder of every real skill that is at hand."""
    return sorted(file.parent for file in PLUGINS.rglob("SKILL.md"))


def archive(entries: Iterable[tuple[str | zipfile.ZipInfo, str | bytes]]) -> bytes:
    """A ZIP archive with these entries, whatever they are."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in entries:
            made.writestr(name, content)
    return target.getvalue()


def skill_archive(*more: tuple[str | zipfile.ZipInfo, str | bytes], name: str = "demo") -> bytes:
    return archive([("SKILL.md", text_of(name)), *more])


def all_below(folder: Path) -> set[str]:
    """Every path in a folder, hidden ones too."""
    return {
        os.path.relpath(os.path.join(root, name), folder)
        for root, folders, files in os.walk(folder)
        for name in (*folders, *files)
    }


@contextmanager
def swapping(folder: Path, target: Path, aside: Path) -> Generator[None]:
    """A thread that makes a folder a link to another and back, as fast as it can; `aside` is for its use."""
    away, link = aside / "aside", aside / "link"
    link.symlink_to(target)
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            os.rename(folder, away)
            os.rename(link, folder)
            os.rename(folder, link)
            os.rename(away, folder)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(30)
