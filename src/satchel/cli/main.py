"""`satchel`: runs one command and ends with its exit code. A command's code is imported when it runs."""

import argparse
import gc
import os
import re
import sys
from importlib import import_module

from satchel.cli import output
from satchel.cli.parser import build_parser
from satchel.errors import ArgumentError, SatchelError

_LEVELS = ("error", "warning", "info", "debug")


def run() -> None:
    """The console script."""
    gc.set_threshold(
        10_000
    )  # modules are never garbage: looking for some while they load takes a tenth of a call
    code = main(sys.argv[1:])
    gc.freeze()  # the process ends here: looking for garbage first would only take time
    sys.exit(code)


def main(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete  # only a shell that completes needs it

        argcomplete.autocomplete(build_parser())
    options = _parse(build_parser(arguments[0] if arguments else None), arguments)
    _forget_what_was_not_cached()
    try:
        _set_up_logging(getattr(options, "verbose", False))
        module, function = options.run.split(":")
        code = getattr(import_module(f"satchel.cli.{module}"), function)(options)
        sys.stdout.flush()
    except SatchelError as error:
        sys.stdout.flush()
        output.show_error(error)
        return error.exit_code
    except KeyboardInterrupt:
        output.note("interrupted")
        return 130
    except BrokenPipeError:
        # The reader of a pipe had enough. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except BaseExceptionGroup as group:
        return _show_group(group)
    finally:
        _note_what_was_not_cached(getattr(options, "verbose", False))
    return int(code or 0)


def _parse(parser: argparse.ArgumentParser, arguments: list[str]) -> argparse.Namespace:
    """Parse, and let key=value stand before, between and after options, which argparse alone does not."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options, rest = parser.parse_known_args(arguments[:end])
    after = arguments[end + 1 :]
    if hasattr(options, "command"):
        options.command = [*options.command, *after]
        after = []
    rest += after
    if rest and (not hasattr(options, "values") or any(word.startswith("-") for word in rest)):
        _refuse(rest, options.parser)
    if rest:
        options.values = [*options.values, *rest]
    return options


def _refuse(words: list[str], parser: argparse.ArgumentParser) -> None:
    """End with the usage of the command that was meant, and the option that was."""
    from satchel.names import closest  # only needed once something has gone wrong

    known = re.findall(r"--[a-z][a-z-]*", parser.format_usage())
    written = [word.partition("=")[0] for word in words if word.startswith("-")]
    near = [option for word in written for option in closest(word, known, limit=1)]
    hint = f"; did you mean {' '.join(near)}?" if near else ""
    parser.error(f"unrecognized arguments: {' '.join(words)}{hint}")


def _forget_what_was_not_cached() -> None:
    """A command knows nothing of what ran in its process before, as if it had one of its own."""
    cache = sys.modules.get("satchel.catalog.cache")
    if cache is not None:
        cache.faults.clear()
        cache.unwritten.clear()


def _note_what_was_not_cached(verbose: bool) -> None:
    """Say once why servers are started again and again, where the log has not said it."""
    cache = sys.modules.get("satchel.catalog.cache")  # importing it here would cost those who don't need it
    if cache is None or not cache.faults or verbose:
        return
    import logging  # only needed once something has gone wrong

    if logging.getLogger("satchel").handlers:
        return
    for directory, reason in cache.faults.items():
        output.note(f"warning: {directory} can't be written: {reason}; what servers list is not kept")
    output.note("hint: make it writable for you; otherwise every command starts the servers again")


def _show_group(group: BaseException) -> int:
    """Errors that came out of a task group: the first one that is meant to be read, else all of it."""
    error = group
    while inner := getattr(error, "exceptions", ()):
        error = inner[0]
    if isinstance(error, SatchelError):
        output.show_error(error)
        return error.exit_code
    if isinstance(error, KeyboardInterrupt):
        return 130
    raise group


def _set_up_logging(verbose: bool) -> None:
    """Log to standard error, with --verbose or as SATCHEL_LOG says; of libraries, warnings."""
    name = os.environ.get("SATCHEL_LOG", "").lower() or ("info" if verbose else "")
    if not name:
        return
    import logging  # takes a while to load, and most commands log nothing

    if name not in _LEVELS:
        raise ArgumentError(
            f"SATCHEL_LOG is '{name}'", hint=f"it is one of {', '.join(_LEVELS)}; --verbose is like info"
        )
    level = logging.INFO if verbose and name != "debug" else getattr(logging, name.upper())

    class CleanFormatter(logging.Formatter):
        default_time_format = "%H:%M:%S"
        default_msec_format = "%s.%03d"

        def format(self, record: logging.LogRecord) -> str:
            return output.clean(super().format(record))

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(CleanFormatter("%(asctime)s %(name)s: %(message)s"))
    libraries = level if name == "debug" else max(level, logging.WARNING)
    logging.basicConfig(level=libraries, handlers=[handler])
    logging.getLogger("satchel").setLevel(level)
    for name in ("httpx2", "httpcore2"):  # they log addresses, and an address can carry a secret
        logging.getLogger(name).setLevel(logging.WARNING)
