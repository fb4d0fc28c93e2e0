"""Loading wrappers by need: `from servers.github import get_issue` reads one file, however many there are.

And what makes another function of a wrapper: its blocking twin, or one that knows real names.
"""

import functools
import sys
from collections.abc import Callable, Coroutine
from importlib import import_module
from types import ModuleType
from typing import Any, ParamSpec, TypeVar, cast

from satchel_runtime import blocking_calls

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Coroutine[Any, Any, Any]])


def lazy(package: str, *tools: str) -> None:
    """Let the functions of a server's files be attributes of its package, each loaded when first used."""
    module = sys.modules[package]
    module.__class__ = _LazyModule
    for tool in tools:  # should one be called like something the package itself needed
        module.__dict__.pop(tool, None)
    module.__dict__["__all__"] = list(tools)


def blocking(function: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, R]:
    """The same wrapper without `await`. It needs no event loop, and works inside a running one."""

    @functools.wraps(function)
    def call_and_wait(*arguments: P.args, **keywords: P.kwargs) -> R:
        with blocking_calls.active():
            coroutine = function(*arguments, **keywords)
            try:
                coroutine.send(None)
            except StopIteration as result:
                return result.value
        coroutine.close()
        raise RuntimeError(f"{function.__name__} waited for something else than its call")

    return call_and_wait


def renamed(**names: str) -> Callable[[F], F]:
    """Let a wrapper's parameters be given by the server's names, too; `names` has those that differ."""
    parameters = {real: name for name, real in names.items()}

    def decorate(function: F) -> F:
        @functools.wraps(function)
        async def call_by_any_name(**given: Any) -> Any:
            keywords: dict[str, Any] = {}
            for key, value in given.items():
                name = key if key in names else parameters.get(key, key)
                if name in keywords:
                    raise TypeError(f"{function.__name__}() got {names[name]!r} twice, once as {name!r}")
                keywords[name] = value
            return await function(**keywords)

        return cast(F, call_by_any_name)

    return decorate


class _LazyModule(ModuleType):
    """A package whose tools are functions. Importing a tool's file would put the module in its place."""

    def __getattr__(self, name: str) -> Any:
        if name not in self.__dict__.get("__all__", ()):
            tools = ", ".join(self.__dict__.get("__all__", ()))
            raise AttributeError(f"{self.__name__} has no tool {name!r}; it has {tools}", name=name, obj=self)
        return _load(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and name in self.__dict__.get("__all__", ()):
            value = getattr(value, name, value)
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *self.__dict__.get("__all__", ())})


def _load(package: ModuleType, name: str) -> Any:
    """The function of a tool; in `sync`, its blocking twin."""
    is_sync = not hasattr(package, "__path__")  # a server may be called `sync`, but it is a package
    home = package.__name__.rpartition(".")[0] if is_sync else package.__name__
    function = getattr(import_module(f"{home}.{name}"), name)
    if is_sync:
        function = blocking(function)
    ModuleType.__setattr__(package, name, function)
    return function
