"""The paths of configuration and state."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from satchel.errors import ConfigError
from satchel.support.files import locked, read_small, write_atomically

SETTINGS_FILE = "satchel.yaml"
EXTENSIONS_FILE = "extensions_config.json"
STATE_DIRECTORY = ".satchel"
PROJECTS = "SATCHEL_PROJECTS"
"""The variable that tells a server which projects' Satchel it was started by, the nearest last."""
_IDENTITY = re.compile(rb"[0-9a-f]{32}")


_Identity = tuple[int, int, int, int, int]
_approved: dict[Path, tuple[_Identity | None, ...]] = {}


def _identity(path: Path) -> _Identity | None:
    """Which file this is, whose, and when it was last made another."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_uid, status.st_mode, status.st_ctime_ns


@dataclass(frozen=True, kw_only=True)
class Paths:
    """The two files of configuration, and the directories that state goes to."""

    project: Path
    settings_file: Path | None
    extensions_file: Path
    user_config: Path
    user_cache: Path
    user_data: Path
    user_state: Path

    @property
    def logs(self) -> Path:
        """The standard error of this project's servers, one file for each."""
        return self.user_state / "logs" / self.mark

    @property
    def serving(self) -> Path:
        """Which processes serve this project now."""
        return self.user_state / "serving" / self.mark

    @property
    def chat_history(self) -> Path:
        """What the person has typed into chats of this project."""
        return self.user_state / "chat" / self.mark

    @property
    def catalog(self) -> Path:
        return self.user_cache / "catalog"

    @property
    def index(self) -> Path:
        """The search index of each server."""
        return self.user_cache / "search"

    @property
    def names(self) -> Path:
        """How this project's servers are spelled. Not in the project: what someone else committed there must
        not steer what is written."""
        project = sha256(os.fsencode(self.project)).hexdigest()[:24]
        return self.user_data / "names" / f"{project}.json"

    @property
    def mark(self) -> str:
        """A mark that identifies this project, and nothing else."""
        return sha256(os.fsencode(self.extensions_file.resolve())).hexdigest()[:24]

    @property
    def tokens(self) -> Path:
        """The tokens by which agents are known over HTTP. Not in the project, which others may read."""
        project = sha256(os.fsencode(self.project)).hexdigest()[:24]
        return self.user_data / "tokens" / f"{project}.json"

    @property
    def trees(self) -> Path:
        """Which files of which generated trees are ours."""
        return self.user_data / "trees"

    @property
    def state(self) -> Path:
        """The project's files that Satchel makes; git ignores them."""
        return self.project / STATE_DIRECTORY

    @property
    def states(self) -> Path:
        """Which directories of state this user's Satchel has made: a file for the id of each."""
        return self.user_data / "states"

    @property
    def private(self) -> tuple[Path, ...]:
        """Satchel's own paths, which must not be granted to programs."""
        settings = () if self.settings_file is None else (self.settings_file,)
        ours = (self.user_data, self.user_cache, self.user_config, self.user_state)
        return self.state, *ours, self.extensions_file, *settings

    @property
    def database(self) -> Path:
        return self.state / "satchel.db"

    def prepare_state(self) -> Path:
        """The directory for the project's state, made ready to be written to and left out of git.

        One that came with somebody's repository is refused: its journal would be believed, its code run. So
        is a link, which would lead our writes elsewhere.
        """
        places = (self.state, self.state / "id", self.state / "code-api", self.state / "agents")
        seen = tuple(map(_identity, places))
        if None not in seen and _approved.get(self.state) == seen:  # the same as the last time
            return self.state
        for path in places:
            if path.is_symlink():
                raise ConfigError(
                    "is a symbolic link, and what Satchel writes would go to where it leads",
                    file=path,
                    hint="remove it",
                )
            if path.exists() and path.stat().st_uid not in (os.geteuid(), 0):
                raise ConfigError(
                    f"belongs to another user (uid {path.stat().st_uid}), who could change it",
                    file=path,
                    hint="remove it, or use a project of your own",
                )
        try:
            if not self.is_state_ours:
                self._claim_state()
            with suppress(FileExistsError), open(self.state / ".gitignore", "x", encoding="utf-8") as stream:
                stream.write("*\n")
        except OSError as error:
            raise ConfigError(
                f"can't be written: {error.strerror}",
                file=Path(error.filename or self.state),
                hint="Satchel keeps its journal and generated code there; make it writable",
            ) from error
        _approved[self.state] = seen
        return self.state

    @property
    def is_state_ours(self) -> bool:
        """Whether this user's Satchel made the directory of state; one from elsewhere is not believed."""
        try:
            identity = read_small(self.state / "id", 64)
        except OSError:
            return False
        # Nothing but digits may become part of a path.
        return bool(_IDENTITY.fullmatch(identity)) and (self.states / identity.decode()).is_file()

    def _claim_state(self) -> None:
        """Make the directory ours, if there is nothing in it yet; one process at a time.

        The record comes first: a process that sees the id finds it.
        """
        import secrets  # only the first command in a project needs it

        with locked(self.states):
            if self.is_state_ours:
                return
            self.state.mkdir(exist_ok=True)
            # A process that died while it wrote the id has left `.id.…`.
            if any(not name.startswith(".id.") for name in os.listdir(self.state)):
                raise ConfigError(
                    "was not made by Satchel for you: it may have come with the repository",
                    file=self.state,
                    hint=f"look at it, then move it away: mv {STATE_DIRECTORY} {STATE_DIRECTORY}-old",
                )
            identity = secrets.token_hex(16)
            write_atomically(self.states / identity, os.fsencode(self.project))
            write_atomically(self.state / "id", identity.encode())

    @property
    def credentials(self) -> Path:
        return self.user_data / "credentials"

    @property
    def keys(self) -> Path:
        """The key that seals texts in the database."""
        return self.user_data / "keys"


def paths_for(given: Paths | Path | str | None, environment: Mapping[str, str]) -> Paths:
    """The paths of a project: as they are given, or those of the nearest one, or of the directory named."""
    if isinstance(given, Paths):
        return given
    return find_paths(config=Path(given) if given else None, environment=environment)


def find_paths(
    *, config: Path | None = None, directory: Path | None = None, environment: Mapping[str, str] | None = None
) -> Paths:
    """Look in the working directory and above it, then in the user's configuration directory.

    `config`, a file or a directory, ends the search.
    """
    environment = os.environ if environment is None else environment
    home = Path(environment.get("HOME") or Path.home())
    user_config = _user_directory(environment, "XDG_CONFIG_HOME", home / ".config")
    found: dict[str, Path] = {}
    project: Path | None = None
    option = "--config"
    if config is None and environment.get("SATCHEL_CONFIG"):
        config, option = Path(environment["SATCHEL_CONFIG"]), "the variable SATCHEL_CONFIG"
    if config is not None:
        config = Path(os.path.expanduser(config)).absolute()
        project = config if config.is_dir() else config.parent
        if not config.is_dir():
            if not config.exists():
                raise ConfigError("no such file or directory", file=config, hint=f"check {option}")
            found[EXTENSIONS_FILE if config.suffix == ".json" else SETTINGS_FILE] = config
        _note_files(project, found)
    else:
        start = (directory or Path.cwd()).absolute()
        for candidate in (start, *start.parents):
            if _note_files(candidate, found, trusted_only=True) and project is None:
                project = candidate
            if len(found) == 2:
                break
        if _note_files(user_config, found) and project is None:
            project = user_config
        project = project or start
    return Paths(
        project=project,
        settings_file=found.get(SETTINGS_FILE),
        extensions_file=found.get(EXTENSIONS_FILE, project / EXTENSIONS_FILE),
        user_config=user_config,
        user_cache=_user_directory(environment, "XDG_CACHE_HOME", home / ".cache"),
        user_data=_user_directory(environment, "XDG_DATA_HOME", home / ".local" / "share"),
        user_state=_user_directory(environment, "XDG_STATE_HOME", home / ".local" / "state"),
    )


def lock_of(directory: Path) -> Path:
    """The directory to lock for work in `directory`, where programs of agents may be shown that one.

    Any process that can open a directory can hold its lock, even through a read-only mount. This one is with
    the user's data, which no program is ever shown.
    """
    environment = os.environ
    home = Path(environment.get("HOME") or Path.home())
    user_data = _user_directory(environment, "XDG_DATA_HOME", home / ".local" / "share")
    return user_data / "locks" / sha256(os.fsencode(os.path.realpath(directory))).hexdigest()[:24]


def _user_directory(environment: Mapping[str, str], variable: str, default: Path) -> Path:
    value = environment.get(variable)
    return (Path(value) if value and os.path.isabs(value) else default) / "satchel"


def _note_files(directory: Path, found: dict[str, Path], *, trusted_only: bool = False) -> bool:
    """Add the configuration files of `directory` that nothing nearer has; tell whether there were any."""
    noted = False
    for name in (SETTINGS_FILE, EXTENSIONS_FILE):
        path = directory / name
        if name not in found and path.is_file():
            if trusted_only:
                _refuse_foreign(path)
            found[name] = path
            noted = True
    return noted


def _refuse_foreign(path: Path) -> None:
    """A file that someone else put into a directory above us would run commands in our name."""
    owners = {path.lstat().st_uid, path.stat().st_uid}  # of a link and of what it leads to
    for owner in owners - {os.geteuid(), 0}:
        raise ConfigError(
            f"belongs to another user (uid {owner}), and it names commands to run",
            file=path,
            hint=f"read it, then pass --config {path.parent} to use it all the same",
        )
