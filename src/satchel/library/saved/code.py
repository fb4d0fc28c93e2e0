"""How the code of saved skills is handled in each language. Code is read and rewritten, never run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from satchel.languages import Language
from satchel.library.saved import python_code, typescript_code
from satchel.library.saved.reading import Reading
from satchel.library.saved.wrapping import wrap_python, wrap_typescript


@dataclass(frozen=True, kw_only=True)
class Code:
    """One language. Functions take the code and the name of the skill's function."""

    read: Callable[[str, str], Reading]
    wrap: Callable[[str, str], str]  # a program as a module with that function
    call: Callable[[str, Reading], str]  # the line of an example that uses the function
    check_example: Callable[[str], object]


CODE: Mapping[Language, Code] = {
    "python": Code(
        read=python_code.read_python,
        wrap=wrap_python,
        call=python_code.call,
        check_example=lambda example: python_code.parse(example, "example"),
    ),
    "typescript": Code(
        read=typescript_code.read_typescript,
        wrap=wrap_typescript,
        call=typescript_code.call,
        check_example=lambda example: None,  # nothing here can parse it
    ),
}
