"""What docstrings say about parameters."""

import inspect

import pytest

from satchel.upstream.docstrings import parameter_descriptions

GOOGLE = """Open a page.

    Args:
        url: The address: with scheme.
        depth (int, optional): How deep
            to go.

            More of it.
        **options: The rest.

    Returns:
        page: not a parameter.
    """
NUMPY = """Open a page.

    Parameters
    ----------
    url : str
        The address.
    depth, width : int, optional
        How far
        to go.

    Returns
    -------
    page : str
        Not a parameter.
    """
SPHINX = """Open a page.

    :param url: The address,
        with scheme.
    :param int depth: How deep.
    :type depth: int
    :returns: Not a parameter.
    """


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            GOOGLE,
            {
                "url": "The address: with scheme.",
                "depth": "How deep to go. More of it.",
                "options": "The rest.",
            },
        ),
        (NUMPY, {"url": "The address.", "depth": "How far to go.", "width": "How far to go."}),
        (SPHINX, {"url": "The address, with scheme.", "depth": "How deep."}),
    ],
    ids=["google", "numpy", "sphinx"],
)
def test_each_common_style_is_read(text: str, expected: dict[str, str]) -> None:
    assert parameter_descriptions(inspect.cleandoc(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Open it.",
        "Args:",
        "Args:\n\n",
        "Args:\n    no colon here",
        "Parameters\n----------",
        "Note: x: y",
    ],
)
def test_a_docstring_without_parameters_has_none(text: str) -> None:
    assert parameter_descriptions(text) == {}
