"""Lists of plugins: read leniently, one bad entry costs that entry, and nothing that they name is opened."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.library.plugins.marketplaces import Marketplace, read_marketplace
from satchel.library.plugins.places import place_of

SHA = "0123456789abcdef0123456789abcdef01234567"


def reading(document: object) -> Marketplace:
    return read_marketplace(json.dumps(document).encode(), "marketplace.json", "fallback")


def listed(*plugins: object, **more: object) -> Marketplace:
    return reading({"name": "tools", "owner": {"name": "Somebody"}, "plugins": list(plugins), **more})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("./sales", "sales"),
        ("./", "."),
        (".", "."),
        ("./a/./b/", "a/b"),
        ("formatter", "formatter"),
        ({"source": "local", "path": "./x"}, "x"),
        ({"source": "github", "repo": "owner/name"}, "https://github.com/owner/name.git"),
        (
            {"source": "url", "url": "https://h.example/a.git", "sha": SHA},
            f"https://h.example/a.git#{SHA[:12]}",
        ),
        ({"source": "url", "url": "https://h.example/a.git", "ref": "v1"}, "https://h.example/a.git#v1"),
        (
            {"source": "git-subdir", "url": "owner/name", "path": "x/y", "ref": "main"},
            "https://github.com/owner/name.git#main in x/y",
        ),
        ({"source": "url", "url": "/srv/plugins.git"}, "/srv/plugins.git"),
    ],
)
def test_sources_are_understood(source: Any, expected: str) -> None:
    (offer,) = listed({"name": "sales", "source": source}).offers
    assert offer.source.form != "unsupported"
    assert str(offer.source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "../outside",
        "./a/../../b",
        "/etc",
        "C:/x",
        "a\\b",
        None,
        7,
        [],
        {},
        {"source": "command", "command": "touch /tmp/x"},
        {"source": "npm", "package": "x"},
        {"source": "archive", "url": "https://h.example/a.zip"},
        {"source": "something-new"},
        {"source": ["github"]},
        {"source": "github", "repo": "--upload-pack=touch x/y"},
        {"source": "github", "repo": "owner"},
        {"source": "url", "url": "ext::sh -c touch% /tmp/x"},
        {"source": "url", "url": "fd::17"},
        {"source": "url", "url": "-u./x"},
        {"source": "url", "url": "--upload-pack=x"},
        {"source": "url", "url": "file:///etc"},
        {"source": "url", "url": "http://h.example/a.git"},
        {"source": "url", "url": "https://user:secret@h.example/a.git"},
        {"source": "url", "url": "https://h.example/a.git; touch x"},
        {"source": "url", "url": "https://h.example/$(x)"},
        {"source": "url", "url": "ssh://-oProxyCommand=x/y"},
        {"source": "url", "url": "git@h.example:a.git"},
        {"source": "url", "url": "https://h.example/a.git", "ref": "-x"},
        {"source": "url", "url": "https://h.example/a.git", "ref": "a..b"},
        {"source": "url", "url": "https://h.example/a.git", "ref": {"x": 1}},
        {"source": "url", "url": "https://h.example/a.git", "sha": "HEAD"},
        {"source": "git-subdir", "url": "https://h.example/a.git", "path": "../x"},
    ],
)
def test_a_source_that_can_not_be_used_costs_its_entry_alone(source: Any) -> None:
    found = listed({"name": "bad", "source": source}, {"name": "good", "source": "./good"})

    bad, good = found.offers
    assert bad.source.form == "unsupported"
    assert bad.source.problem
    assert good.source.path == "good"
    assert found.error is None


def test_a_bare_name_lies_below_the_root_of_all_plugins() -> None:
    (offer,) = listed({"name": "a", "source": "a"}, metadata={"pluginRoot": "./plugins"}).offers
    assert offer.source.path == "plugins/a"


def test_entries_that_share_a_folder_have_only_what_they_list() -> None:
    one, two, alone = listed(
        {"name": "one", "source": "./", "skills": ["./skills/a"]},
        {"name": "two", "source": "./", "skills": ["./skills/b"], "description": "Two."},
        {"name": "alone", "source": "./alone", "skills": ["./more"]},
    ).offers

    assert one.parts == {"skills": ["./skills/a"], "only": True}
    assert two.parts == {"description": "Two.", "skills": ["./skills/b"], "only": True}
    assert alone.parts == {"skills": ["./more"]}


def test_bad_names_and_twins_are_left_out_with_the_line() -> None:
    text = """{
  "name": "../x",
  "plugins": [
    {"name": "good", "source": "./good"},
    {"name": "a/b", "source": "./a"},
    {"name": "Good", "source": "./other"},
    "text"
  ]
}"""
    found = read_marketplace(text.encode(), "marketplace.json", "fallback")

    assert found.name == "fallback"
    assert [offer.name for offer in found.offers] == ["good"]
    assert [(remark.line, remark.text.partition(":")[0]) for remark in found.remarks] == [
        (2, "its name '../x' can't be used; it is called 'fallback' here"),
        (5, "a plugin is left out, because of its name"),
        (6, "'Good' is there twice; the first counts"),
        (7, "a plugin is left out, because of its name"),
    ]


def test_renames_are_followed_through_chains_and_circles_end() -> None:
    found = listed(renames={"a": "b", "b": "c", "gone": None, "x": "y", "y": "x", "odd": 7})

    assert found.renamed("a") == "c"
    assert found.renamed("other") == "other"
    assert found.renamed("gone") is None
    assert found.renamed("x") is None
    assert found.renamed("odd") is None


@pytest.mark.parametrize("data", [b"", b"[", b"[]", b"{}", b'{"plugins": {}}', b"\xff\xfe", b"[" * 100_000])
def test_what_is_not_a_list_says_why(data: bytes) -> None:
    found = read_marketplace(data, "marketplace.json", "fallback")
    assert found.error is not None
    assert "marketplace.json" in found.error
    assert not found.offers


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(["name", "source", "skills", "keywords", "renames", "metadata", "owner", "url", "ref"])


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    document=st.dictionaries(KEYS, VALUES),
    entries=st.lists(st.dictionaries(KEYS, VALUES) | VALUES, max_size=4),
)
def test_no_list_can_break_the_reader(document: dict[str, Any], entries: list[Any]) -> None:
    found = reading({**document, "plugins": entries})
    for offer in found.offers:
        assert offer.parts is not None
        assert str(offer.source) is not None
        found.renamed(offer.name)


def test_the_command_to_clone_quotes_what_it_names() -> None:
    place = place_of({"source": "url", "url": "https://h.example/a%20b.git", "ref": "v1", "path": "x y"})
    assert place.clone_command() == (
        "git clone https://h.example/a%20b.git a%20b && satchel plugins install ./a%20b --ref v1 --path 'x y'"
    )


@pytest.mark.parametrize("name", ["--upload-pack=x", "-u.git", "..", "...git"])
def test_no_address_becomes_an_option_of_the_command_to_clone(name: str) -> None:
    place = place_of({"source": "url", "url": f"https://h.example/{name}"})
    assert place.form == "git"
    _, _, clone = place.clone_command().partition(f"{name} ")
    assert clone.split(" ")[0].strip("'") in ("upload-pack=x", "u", "plugin")
