"""Headings that are left out."""

import pytest

from satchel.support.headings import without_headings


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("# Everything Server – Server Instructions\n\nAudience: models.\n", "Audience: models."),
        ("Weather\n=======\n\n## Use\nAsk for a city.", "Ask for a city."),
        ("Ask for a city.\n\n# More", "Ask for a city.\n\n# More"),
        ("#1 in the world", "#1 in the world"),
        ("# Weather", ""),
        ("", ""),
    ],
)
def test_a_text_begins_after_its_headings(text: str, rest: str) -> None:
    assert without_headings(text) == rest
