"""Names from elsewhere in satchel.yaml: what each is now, what wins, and what is said about it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from satchel.config import (
    Configuration,
    Paths,
    ServerEntry,
    find_paths,
    read_configuration,
    resolve,
)
from satchel.config.aliases import ALIASES, NAME
from satchel.config.follow import LiveConfiguration
from satchel.config.settings import Settings, read_settings
from satchel.errors import ConfigError, NeedsSetupError
from satchel.model import is_list, is_object
from satchel.verbs.offline import read_catalog
from tests.projects import Project
from tests.servers import raw

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "satchel.yaml"


def paths_of(file: Path) -> Paths:
    return find_paths(config=file.parent, environment={"HOME": str(file.parent / "home")})


def read(file: Path, text: str) -> Configuration:
    file.write_text(text, encoding="utf-8")
    return read_configuration(paths_of(file))


def error_of(file: Path, text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        read(file, text)
    assert caught.value.file == file
    return caught.value


def current(text: str, tmp_path: Path) -> Settings:
    """What the same things are by their current names."""
    directory = tmp_path / "current"
    directory.mkdir(exist_ok=True)
    (directory / "satchel.yaml").write_text(text)
    configuration = read_configuration(paths_of(directory / "satchel.yaml"))
    assert configuration.notes == ()
    return configuration.settings


REQUIRED = "{mode: code, code_execution: {required: true}}"
BACKEND = "{code_execution: {sandbox: {backend: process}}}"
ISOLATED = "bubblewrap isolates programs, without an image and without a network"
NO_NETWORK = "programs reach tools without a network, and nothing else"
AVAILABLE = "every server with an entry is available, unless that says enabled: false"
WRAPPED = "'massgen' has no effect: its keys count as if they stood at the top level"
OWN_TOOLS = (
    "'in_context_tools.code_execution' has no effect: 'execute_code' is shown wherever programs can be run; "
    "it takes Python, TypeScript and shell"
)
# As written, as it is now, and the notes without their place.
MEANINGS: list[tuple[str, str, list[str]]] = [
    ("execution_mode: direct", "mode: direct", ["'execution_mode' is now 'mode'"]),
    ("execution_mode: code", "mode: code", ["'execution_mode' is now 'mode'"]),
    ("execution_mode: auto", "mode: auto", ["'execution_mode' is now 'mode'"]),
    (
        "execution_mode: context_based",
        "mode: direct",
        ["'execution_mode: context_based' is now 'mode: direct'"],
    ),
    (
        "execution_mode: filesystem_first",
        REQUIRED,
        ["'execution_mode: filesystem_first' is now 'mode: code' and 'code_execution.required: true'"],
    ),
    (
        "code_execution: {enabled: false}",
        "mode: direct",
        ["'code_execution.enabled: false' is now 'mode: direct'"],
    ),
    (
        "code_execution: {enabled: true}",
        "{}",
        ["'code_execution.enabled: true' has no effect: 'mode' says what a model is shown"],
    ),
    ("code_execution: {mode: auto}", "mode: auto", ["'code_execution.mode' is now 'mode'"]),
    ("code_execution: {mode: always}", "mode: code", ["'code_execution.mode: always' is now 'mode: code'"]),
    ("code_execution: {mode: never}", "mode: direct", ["'code_execution.mode: never' is now 'mode: direct'"]),
    (
        "code_execution: {auto_threshold: 7}",
        "auto_threshold: 7",
        ["'code_execution.auto_threshold' is now 'auto_threshold'"],
    ),
    (
        "code_execution: {sandbox_timeout: 5, language: typescript}",
        "code_execution: {timeout: 5, language: typescript}",
        ["'code_execution.sandbox_timeout' is now 'code_execution.timeout'"],
    ),
    (
        "code_execution: {sandbox_timeout: 120}",
        "code_execution: {timeout: 120, max_timeout: 120}",
        ["'code_execution.sandbox_timeout' is now 'code_execution.timeout'"],
    ),
    (
        "code_execution: {sandbox_timeout: 300.5}",
        "code_execution: {timeout: 300.5, max_timeout: 300.5}",
        [
            "'code_execution.sandbox_timeout' is now 'code_execution.timeout'",
            "'code_execution.sandbox_timeout' raises 'code_execution.max_timeout' as well",
        ],
    ),
    (
        "code_execution: {sandbox_timeout: 300, max_timeout: 200}",
        "code_execution: {timeout: 300, max_timeout: 200}",
        ["'code_execution.sandbox_timeout' is now 'code_execution.timeout'"],
    ),
    (
        "{code_execution: {sandbox_timeout: 300}, mcp: {code_execution: {max_timeout: 200}}}",
        "code_execution: {timeout: 300, max_timeout: 200}",
        [
            "'mcp.code_execution' is now 'code_execution'",
            "'code_execution.sandbox_timeout' is now 'code_execution.timeout'",
        ],
    ),
    ("mcp:", "{}", []),
    ("mcp: {}", "{}", []),
    ("mcp: {servers: , code_execution: }", "{}", []),
    ("mcp: {servers: {}, code_execution: {}}", "{}", []),
    ("mcp: {execution_mode: direct}", "mode: direct", ["'mcp.execution_mode' is now 'mode'"]),
    ("mcp: {execution_mode: code}", "mode: code", ["'mcp.execution_mode' is now 'mode'"]),
    ("mcp: {execution_mode: auto}", "mode: auto", ["'mcp.execution_mode' is now 'mode'"]),
    (
        "mcp: {execution_mode: context_based}",
        "mode: direct",
        ["'mcp.execution_mode: context_based' is now 'mode: direct'"],
    ),
    (
        "mcp: {execution_mode: filesystem_first}",
        REQUIRED,
        ["'mcp.execution_mode: filesystem_first' is now 'mode: code' and 'code_execution.required: true'"],
    ),
    (
        "mcp: {code_execution: {enabled: false}}",
        "mode: direct",
        ["'mcp.code_execution.enabled: false' is now 'mode: direct'"],
    ),
    (
        "mcp: {code_execution: {enabled: true}}",
        "{}",
        ["'mcp.code_execution.enabled: true' has no effect: 'mode' says what a model is shown"],
    ),
    (
        "mcp: {code_execution: {mode: always, auto_threshold: 3}}",
        "{mode: code, auto_threshold: 3}",
        [
            "'mcp.code_execution.mode: always' is now 'mode: code'",
            "'mcp.code_execution.auto_threshold' is now 'auto_threshold'",
        ],
    ),
    (
        "mcp: {code_execution: {sandbox_timeout: 200}}",
        "code_execution: {timeout: 200, max_timeout: 200}",
        [
            "'mcp.code_execution.sandbox_timeout' is now 'code_execution.timeout'",
            "'mcp.code_execution.sandbox_timeout' raises 'code_execution.max_timeout' as well",
        ],
    ),
    (
        "mcp: {code_execution: {language: typescript, max_output_chars: 9}}",
        "code_execution: {language: typescript, max_output_chars: 9}",
        ["'mcp.code_execution' is now 'code_execution'"],
    ),
    (
        "mcp: {code_execution: {workspace_dir: ./workspace}}",
        "{}",
        [
            "'mcp.code_execution.workspace_dir' has no effect: "
            "workspaces are in .satchel/agents of the project"
        ],
    ),
    *(
        (
            f"mcp: {{code_execution: {{regenerate_on_startup: {value}}}}}",
            "{}",
            [
                "'mcp.code_execution.regenerate_on_startup' has no effect: "
                "wrappers are always brought up to date"
            ],
        )
        for value in ("true", "false")
    ),
    (
        "mcp: {code_execution: {sandbox: {memory_mb: 9, allow_env: [A], python_env: null}}}",
        "code_execution: {sandbox: {memory_mb: 9, allow_env: [A]}}",
        ["'mcp.code_execution' is now 'code_execution'"],
    ),
    (
        "mcp: {code_execution: {sandbox: {backend: process}}}",
        BACKEND,
        ["'mcp.code_execution' is now 'code_execution'"],
    ),
    ("mcp: {code_execution: {sandbox: }}", "{}", ["'mcp.code_execution' is now 'code_execution'"]),
    (
        "mcp: {code_execution: {sandbox: bubblewrap}}",
        "{}",
        ["'mcp.code_execution.sandbox' is now 'code_execution.sandbox.backend'"],
    ),
    (
        "mcp: {code_execution: {sandbox: process}}",
        BACKEND,
        ["'mcp.code_execution.sandbox' is now 'code_execution.sandbox.backend'"],
    ),
    (
        "mcp: {code_execution: {sandbox: true}}",
        "{}",
        [
            "'mcp.code_execution.sandbox: true' has no effect: "
            "'code_execution.sandbox.backend' says where programs run"
        ],
    ),
    (
        "mcp: {code_execution: {sandbox: false}}",
        "mode: direct",
        ["'mcp.code_execution.sandbox: false' is now 'mode: direct'"],
    ),
    ("in_context_tools: {}", "{}", ["'in_context_tools' is now a list of patterns 'server.tool'"]),
    (
        "in_context_tools: {drive: [get_document, 'list_*'], mail: [slack.post_message, drive.get_document]}",
        "in_context_tools: [drive.get_document, 'drive.list_*', slack.post_message]",
        ["'in_context_tools' is now a list of patterns 'server.tool'"],
    ),
    (
        "in_context_tools: {all: ['*'], google-drive: {tools: ['*', share]}, none: {}, 5: []}",
        "in_context_tools: ['*.*', 'google-drive.*', google-drive.share]",
        ["'in_context_tools' is now a list of patterns 'server.tool'"],
    ),
    (
        "in_context_tools: {all: [search], a.b: [c], always: [drive__get_document]}",
        "in_context_tools: ['*.search', a.b.c, drive__get_document]",
        ["'in_context_tools' is now a list of patterns 'server.tool'"],
    ),
    ("in_context_tools: [drive, 'a.b', '*']", "in_context_tools: [drive, 'a.b', '*']", []),
    (
        "in_context_tools: {drive: '*', code_execution: [run_query]}",
        "in_context_tools: ['drive.*', code_execution.run_query]",
        ["'in_context_tools' is now a list of patterns 'server.tool'"],
    ),
    *(
        (
            f"in_context_tools: {{drive: [get], code_execution: {tools}}}",
            "in_context_tools: [drive.get]",
            ["'in_context_tools' is now a list of patterns 'server.tool'", OWN_TOOLS],
        )
        for tools in ("[execute_python, execute_bash]", "[execute_python]", "'*'", "{tools: ['*']}")
    ),
    *(
        (
            f"code_execution: {{runtime: {runtime}}}",
            "code_execution: {language: typescript}",
            [f"'code_execution.runtime: {runtime}' is now 'code_execution.language: typescript'"],
        )
        for runtime in ("deno", "node")
    ),
    (
        "mcp: {code_execution: {runtime: deno}}",
        "code_execution: {language: typescript}",
        ["'mcp.code_execution.runtime: deno' is now 'code_execution.language: typescript'"],
    ),
    (
        "code_execution: {enabled: true, mode: docker, docker: {image: a/b:latest, network: host}}",
        "{}",
        [
            "'code_execution.enabled: true' has no effect: 'mode' says what a model is shown",
            f"'code_execution.mode: docker' has no effect: {ISOLATED}",
            f"'code_execution.docker' has no effect: {ISOLATED}",
        ],
    ),
    *(
        (
            f"{key.format(f'{{sandbox: {{disk_mb: 9, allow_net: {hosts}}}}}')}",
            "code_execution: {sandbox: {disk_mb: 9}}",
            [f"'{name}.sandbox.allow_net' has no effect: {NO_NETWORK}", *notes],
        )
        for hosts in ("[localhost]", "['127.0.0.1:8080', '[::1]', '::1']")
        for key, name, notes in (
            ("code_execution: {}", "code_execution", []),
            (
                "mcp: {{code_execution: {}}}",
                "mcp.code_execution",
                ["'mcp.code_execution' is now 'code_execution'"],
            ),
        )
    ),
    (
        "massgen: {execution_mode: filesystem_first, auto_threshold: 4}",
        "{mode: code, auto_threshold: 4, code_execution: {required: true}}",
        [
            WRAPPED,
            "'execution_mode: filesystem_first' is now 'mode: code' and 'code_execution.required: true'",
        ],
    ),
    ("massgen:", "{}", [WRAPPED]),
    (
        "{available_custom_tools: [web.navigate], search_tools: {enable_ripgrep: true}}",
        "{}",
        [
            "'available_custom_tools' has no effect: every tool in 'custom_tools' is available",
            "'search_tools' has no effect: programs always have rg and ast-grep; "
            "'search.embeddings' is for searching by meaning",
        ],
    ),
    (
        "available_mcp_servers: [drive, drive]",
        "{}",
        [
            f"'available_mcp_servers' has no effect: {AVAILABLE}",
            "no entry for drive; satchel add NAME -- COMMAND… writes one",
        ],
    ),
    (
        "available_mcp_servers: [a, b, c, d, e, f, g]",
        "{}",
        [
            f"'available_mcp_servers' has no effect: {AVAILABLE}",
            "no entry for a, b, c, d, e and 2 more; satchel add NAME -- COMMAND… writes one",
        ],
    ),
    ("available_mcp_servers: []", "{}", [f"'available_mcp_servers' has no effect: {AVAILABLE}"]),
    (
        "agents: [{id: reader, deny: [a.b]}, {id: default}]",
        "agents: {reader: {deny: [a.b]}, default: {}}",
        [],
    ),
    (
        "agents: [{id: a.1, backend: {type: x, model: y, mcp_servers: [drive, slack]}}]",
        "agents: {a.1: {model: 'x:y', allow: [drive, slack]}}",
        [
            "'agents.a.1.backend.model' is now 'agents.a.1.model: x:y'",
            "'agents.a.1.backend.mcp_servers' is now 'agents.a.1.allow'",
        ],
    ),
    (
        "agents: {a: {backend: {type: claude, model: sonnet}}, b: {backend: {type: ollama, model: 'l:8b'}}}",
        "agents: {a: {model: 'anthropic:sonnet'}, b: {model: 'ollama:l:8b'}}",
        [
            "'agents.a.backend.model' is now 'agents.a.model: anthropic:sonnet'",
            "'agents.b.backend.model' is now 'agents.b.model: ollama:l:8b'",
        ],
    ),
    (
        "agents: {a: {backend: {type: openai, model: 'openai:gpt-4o'}}, b: {backend: {model: 'x:y'}}}",
        "agents: {a: {model: 'openai:gpt-4o'}, b: {model: 'x:y'}}",
        [
            "'agents.a.backend.model' is now 'agents.a.model'",
            "'agents.b.backend.model' is now 'agents.b.model'",
        ],
    ),
    (
        "agents: {a: {backend: {type: openai}}}",
        "agents: {a: {}}",
        ["'agents.a.backend.type' has no effect: it is the provider of 'backend.model', which is not given"],
    ),
    (
        "agents: {a: {backend: {mcp_servers: []}}, b: {backend: }}",
        "agents: {a: {allow: []}, b: {}}",
        ["'agents.a.backend.mcp_servers' is now 'agents.a.allow'"],
    ),
]


@pytest.mark.parametrize(("written", "now", "notes"), MEANINGS, ids=[row[0] for row in MEANINGS])
def test_a_name_from_elsewhere_means_what_the_current_one_does(
    file: Path, tmp_path: Path, written: str, now: str, notes: list[str]
) -> None:
    configuration = read(file, f"# a comment\n{written}\n")

    assert configuration.settings == current(now, tmp_path)
    assert configuration.notes == tuple(f"satchel.yaml:2: {note}" for note in notes)
    assert read_settings(file) == configuration.settings


def test_every_row_of_the_table_and_every_value_in_it_is_tried_here() -> None:
    def values_of(key: str) -> set[str]:
        found: set[str] = set()
        for written, _, _ in MEANINGS:
            value: object = yaml.safe_load(written)
            for part in key.split("."):
                if is_list(value):
                    value = value[0] if value else None
                    continue
                value = value.get(part) if is_object(value) else None
            if value is not None:
                found.add(repr(value))
        return found

    for row in ALIASES:
        keys = [row.written] if row.written.startswith("mcp.") else [row.written, f"mcp.{row.written}"]
        assert values_of(row.written) or row.written in ("mcp.servers", f"mcp.servers.{NAME}.envs")
        for value in row.values or ():
            assert repr(value) in set[str]().union(*map(values_of, keys)), (row.written, value)


def test_lines_are_those_of_each_key_and_in_the_order_of_the_file(file: Path) -> None:
    configuration = read(
        file,
        "mcp:\n"
        "  code_execution:\n"
        "    workspace_dir: x\n"
        "    mode: always\n"
        "in_context_tools:\n"
        "  drive: [x]\n"
        "\n"
        "execution_mode: code\n",
    )

    assert [note.split(" ")[0] for note in configuration.notes] == [
        *("satchel.yaml:3:", "satchel.yaml:4:", "satchel.yaml:5:", "satchel.yaml:8:")
    ]


def test_a_key_that_was_merged_from_an_anchor_is_read_too(file: Path) -> None:
    configuration = read(file, "custom_tools: &x {}\n<<: {execution_mode: code}\n")

    assert configuration.settings.mode == "code"
    assert configuration.notes == ("satchel.yaml: 'execution_mode' is now 'mode'",)


# The current name wins


@pytest.mark.parametrize(
    ("written", "now", "note"),
    [
        (
            "{mode: search, execution_mode: direct}",
            "mode: search",
            "'execution_mode' is not used, because 'mode' is given",
        ),
        (
            "{execution_mode: filesystem_first, mode: direct}",
            "mode: direct",
            "'execution_mode' is not used, because 'mode' is given",
        ),
        (
            "{execution_mode: filesystem_first, code_execution: {required: false}}",
            "mode: code",
            "'execution_mode: filesystem_first' is now 'mode: code'; 'code_execution.required' is given",
        ),
        (
            "{mode: code, code_execution: {enabled: false}}",
            "mode: code",
            "'code_execution.enabled' is not used, because 'mode' is given",
        ),
        (
            "{mode: code, code_execution: {enabled: true}}",
            "mode: code",
            "'code_execution.enabled: true' has no effect: 'mode' says what a model is shown",
        ),
        (
            "{mode: code, code_execution: {mode: never}}",
            "mode: code",
            "'code_execution.mode' is not used, because 'mode' is given",
        ),
        (
            "{auto_threshold: 1, code_execution: {auto_threshold: 2}}",
            "auto_threshold: 1",
            "'code_execution.auto_threshold' is not used, because 'auto_threshold' is given",
        ),
        (
            "code_execution: {sandbox_timeout: 500, timeout: 9}",
            "code_execution: {timeout: 9}",
            "'code_execution.sandbox_timeout' is not used, because 'code_execution.timeout' is given",
        ),
        (
            "{mode: code, mcp: {execution_mode: direct}}",
            "mode: code",
            "'mcp.execution_mode' is not used, because 'mode' is given",
        ),
        (
            "code_execution: {language: python, runtime: deno}",
            "{}",
            "'code_execution.runtime' is not used, because 'code_execution.language' is given",
        ),
        (
            "agents: {a: {allow: [x], backend: {mcp_servers: [y]}}}",
            "agents: {a: {allow: [x]}}",
            "'agents.a.backend.mcp_servers' is not used, because 'agents.a.allow' is given",
        ),
        (
            "{mode: code, mcp: {code_execution: {sandbox: false}}}",
            "mode: code",
            "'mcp.code_execution.sandbox' is not used, because 'mode' is given",
        ),
        (
            "{code_execution: {sandbox: {backend: bubblewrap}}, mcp: {code_execution: {sandbox: process}}}",
            "{}",
            "'mcp.code_execution.sandbox' is not used, because 'code_execution.sandbox.backend' is given",
        ),
        (
            "{code_execution: {sandbox: {memory_mb: 9}}, "
            "mcp: {code_execution: {sandbox: {memory_mb: 8, disk_mb: 7}}}}",
            "code_execution: {sandbox: {memory_mb: 9, disk_mb: 7}}",
            "'mcp.code_execution.sandbox.memory_mb' is not used, "
            "because 'code_execution.sandbox.memory_mb' is given",
        ),
    ],
)
def test_the_current_name_wins_and_that_is_noted(
    file: Path, tmp_path: Path, written: str, now: str, note: str
) -> None:
    configuration = read(file, written)

    assert configuration.settings == current(now, tmp_path)
    assert f"satchel.yaml:1: {note}" in configuration.notes


def test_a_section_at_both_places_is_one(file: Path, tmp_path: Path) -> None:
    configuration = read(file, "code_execution: &here {timeout: 5}\nmcp: {code_execution: *here}\n")

    assert configuration.settings == current("code_execution: {timeout: 5}", tmp_path)


# Names that contradict each other


@pytest.mark.parametrize(
    ("text", "line", "key", "other", "now"),
    [
        (
            "execution_mode: direct\ncode_execution:\n  mode: always\n",
            3,
            "code_execution.mode",
            "'execution_mode' in line 1",
            "mode",
        ),
        (
            "code_execution:\n  enabled: false\n  mode: always\n",
            3,
            "code_execution.mode",
            "'code_execution.enabled' in line 2",
            "mode",
        ),
        (
            "mcp:\n  execution_mode: code\nexecution_mode: auto\n",
            2,
            "mcp.execution_mode",
            "'execution_mode' in line 3",
            "mode",
        ),
        (
            "mcp:\n  execution_mode: code\n  code_execution:\n    sandbox: false\n",
            4,
            "mcp.code_execution.sandbox",
            "'mcp.execution_mode' in line 2",
            "mode",
        ),
        (
            "code_execution: {auto_threshold: 1}\nmcp:\n  code_execution: {auto_threshold: 2}\n",
            3,
            "mcp.code_execution.auto_threshold",
            "'code_execution.auto_threshold' in line 1",
            "auto_threshold",
        ),
        (
            "code_execution: {sandbox_timeout: 1}\nmcp:\n  code_execution: {timeout: 2}\n",
            3,
            "mcp.code_execution.timeout",
            "'code_execution.sandbox_timeout' in line 1",
            "code_execution.timeout",
        ),
        (
            "execution_mode: filesystem_first\nmcp:\n  code_execution:\n    required: false\n",
            4,
            "mcp.code_execution.required",
            "'execution_mode' in line 1",
            "code_execution.required",
        ),
    ],
)
def test_names_that_contradict_each_other_are_an_error_with_both(
    file: Path, text: str, line: int, key: str, other: str, now: str
) -> None:
    error = error_of(file, text)

    assert (error.line, error.key) == (line, key)
    assert error.message == f"{file}:{line}: '{key}' contradicts {other}"
    assert error.hint == f"keep one of them; it is now '{now}'"


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("{execution_mode: direct, code_execution: {enabled: false, mode: never}}", "direct"),
        ("{execution_mode: filesystem_first, code_execution: {mode: always, enabled: true}}", "code"),
        ("{code_execution: {enabled: true, mode: never}}", "direct"),
        ("{mcp: {execution_mode: code}, execution_mode: code}", "code"),
        ("{mode: search, execution_mode: code, code_execution: {mode: never}}", "search"),
    ],
)
def test_names_that_say_the_same_or_are_not_used_contradict_nothing(file: Path, text: str, mode: str) -> None:
    assert read(file, text).settings.mode == mode


# Errors name the key as it was written


@pytest.mark.parametrize(
    ("text", "line", "key", "expected", "hint"),
    [
        (
            "# a comment\nexecution_mode: fast",
            2,
            "execution_mode",
            "'execution_mode' is 'fast'; it can be direct, code, auto, filesystem_first, context_based",
            "it is now 'mode'",
        ),
        ("execution_mode: search", 1, "execution_mode", "is 'search'; it can be", "it is now 'mode'"),
        ("execution_mode:", 1, "execution_mode", "is null; it can be", "it is now 'mode'"),
        ("execution_mode: [code]", 1, "execution_mode", "it can be direct", "it is now 'mode'"),
        (
            "code_execution:\n  enabled: 1",
            2,
            "code_execution.enabled",
            "must be true or false, not 1",
            "it is now 'mode'",
        ),
        (
            "code_execution:\n  enabled: {}",
            2,
            "code_execution.enabled",
            "must be true or false, not {}",
            "it is now 'mode'",
        ),
        (
            "code_execution:\n  mode: code",
            2,
            "code_execution.mode",
            "'code_execution.mode' is 'code'; it can be auto, always, never",
            "it is now 'mode'",
        ),
        (
            "code_execution:\n  auto_threshold: many",
            2,
            "code_execution.auto_threshold",
            "must be a whole number, not 'many'",
            "it is now 'auto_threshold'",
        ),
        (
            "code_execution:\n  auto_threshold: -1",
            2,
            "code_execution.auto_threshold",
            "must not be negative",
            "it is now 'auto_threshold'",
        ),
        (
            "code_execution:\n  sandbox_timeout: 0",
            2,
            "code_execution.sandbox_timeout",
            "must be more than 0",
            "it is now 'code_execution.timeout'",
        ),
        ("mcp: 5", 1, "mcp", "expected keys and values, found 5", None),
        ("mcp:\n- a", 1, "mcp", "expected keys and values, found ['a']", None),
        (
            "mcp:\n  server: {}",
            2,
            "mcp.server",
            "unknown key 'mcp.server'",
            "did you mean 'servers'?",
        ),
        (
            "mcp:\n  zzz: 1",
            2,
            "mcp.zzz",
            "unknown key 'mcp.zzz'",
            "known keys: execution_mode, servers, code_execution",
        ),
        (
            "mcp:\n  execution_mode: maybe",
            2,
            "mcp.execution_mode",
            "'mcp.execution_mode' is 'maybe'; it can be direct",
            "it is now 'mode'",
        ),
        ("mcp:\n  code_execution: on", 2, "mcp.code_execution", "expected keys and values, found true", None),
        (
            "mcp:\n  code_execution:\n    sandbox_timeout: soon",
            3,
            "mcp.code_execution.sandbox_timeout",
            "'mcp.code_execution.sandbox_timeout' must be a number, not 'soon'",
            "it is now 'code_execution.timeout'",
        ),
        (
            "mcp:\n  code_execution:\n    timeuot: 3",
            3,
            "mcp.code_execution.timeuot",
            "unknown key 'mcp.code_execution.timeuot'",
            "did you mean 'timeout'?",
        ),
        (
            "mcp:\n  code_execution:\n    language: ruby",
            3,
            "mcp.code_execution.language",
            "'mcp.code_execution.language' is 'ruby'; it can be python, typescript",
            None,
        ),
        ("mcp:\n  code_execution:\n    workspace_dir: 5", 3, "mcp.code_execution.workspace_dir", "", None),
        (
            "mcp:\n  code_execution:\n    regenerate_on_startup: 'yes'",
            3,
            "mcp.code_execution.regenerate_on_startup",
            "must be true or false, not 'yes'",
            None,
        ),
        (
            "mcp:\n  code_execution:\n    sandbox: docker",
            3,
            "mcp.code_execution.sandbox",
            "'mcp.code_execution.sandbox' is 'docker'; it can be bubblewrap, process",
            "it is now 'code_execution.sandbox.backend'",
        ),
        (
            "mcp:\n  code_execution:\n    sandbox: 1",
            3,
            "mcp.code_execution.sandbox",
            "is 1; it can be bubblewrap, process",
            "it is now 'code_execution.sandbox.backend'",
        ),
        (
            "mcp:\n  code_execution:\n    sandbox:\n      memory_mb: -5",
            4,
            "mcp.code_execution.sandbox.memory_mb",
            "'mcp.code_execution.sandbox.memory_mb' must not be negative",
            None,
        ),
        (
            "mcp:\n  code_execution:\n    sandbox:\n      memory: 5",
            4,
            "mcp.code_execution.sandbox.memory",
            "unknown key 'mcp.code_execution.sandbox.memory'",
            "did you mean 'memory_mb'?",
        ),
        (
            "mcp:\n  code_execution:\n    sandbox:\n      allow_net: [example.org]",
            4,
            "mcp.code_execution.sandbox.allow_net",
            "network",
            "remove the entries: programs reach the outside through tools",
        ),
        (
            "code_execution:\n  sandbox:\n    allow_net: [localhost, example.org]",
            3,
            "code_execution.sandbox.allow_net",
            "network",
            "remove the entries: programs reach the outside through tools",
        ),
        (
            "code_execution:\n  sandbox:\n    allow_net: [localhost.example.org]",
            3,
            "code_execution.sandbox.allow_net",
            "network",
            "remove the entries: programs reach the outside through tools",
        ),
        (
            "code_execution:\n  runtime: bun",
            2,
            "code_execution.runtime",
            "it can be deno, node",
            "it is now 'code_execution.language'",
        ),
        ("code_execution:\n  docker: host", 2, "code_execution.docker", "must be keys and values", None),
        ("massgen: 5", 1, "massgen", "'massgen' must be keys and values", None),
        ("mode: code\nmassgen:\n  mode: code", 3, "massgen.mode", "here and as 'mode' in line 1", ...),
        ("massgen:\n  a: 1\n  mdoe: x", 2, "a", "unknown key 'a'", ...),
        ("massgen:\n  code_execution:\n    mode: fast", 3, "code_execution.mode", "is 'fast'", ...),
        ("available_mcp_servers:\n- a\n- {b: c}", 3, "available_mcp_servers.1", "must be a string", None),
        ("search_tools:\n  ripgrep: true", 2, "search_tools.ripgrep", "unknown key", ...),
        ("agents:\n- name: a", 2, "agents.0", "must have an 'id' that is a string", ...),
        ("agents:\n- id: a\n- id: a", 3, "agents.1", "has the 'id' of a different agent, 'a'", ...),
        ("agents:\n- id: a\n- id: b\n  alow: [x]", 4, "agents.b.alow", "unknown key", ...),
        ("massgen:\n  agents:\n  - id: a\n    deny: x", 4, "agents.a.deny", "must be a list", None),
        ("agents:\n- id: ../up", 2, "agents.../up", "can't be that of a directory", ...),
        ("agents:\n- id: a\n  backend:\n    modle: x", 4, "agents.a.backend.modle", "unknown key", ...),
        (
            "agents:\n- id: a\n  memory:\n    allow_read_from:\n    - b\n    - c\n- id: b",
            6,
            "agents.a.memory.allow_read_from.1",
            "there is no agent 'c'",
            ...,
        ),
        (
            "massgen:\n  agents:\n  - id: a\n    limits:\n      tokens: -1",
            5,
            "agents.a.limits.tokens",
            "must not be negative",
            ...,
        ),
        ("agents:\n- id: a\n  backend:\n    model: gpt-4o", 4, "agents.a.model", "names no provider", ...),
        (
            "agents:\n- id: a\n  backend:\n    mcp_servers:\n    - x\n    - '[y]'",
            6,
            "agents.a.allow.1",
            "'[y]' is not a pattern",
            ...,
        ),
        (
            "agents:\n- id: a\n  backend:\n    mcp_servers: [{name: x}]",
            4,
            "agents.a.backend.mcp_servers.0",
            "must be a string",
            "it is now 'agents.<name>.allow'",
        ),
        (
            "in_context_tools:\n  drive: get_document",
            2,
            "in_context_tools.drive",
            "'in_context_tools.drive' must be a list, not 'get_document'",
            None,
        ),
        ("in_context_tools:\n  drive:", 2, "in_context_tools.drive", "must be a list, not null", None),
        (
            "in_context_tools:\n  a: []\n  drive:\n  - a\n  - 5",
            5,
            "in_context_tools.drive.1",
            "'in_context_tools.drive.1' must be a string, not 5",
            None,
        ),
        (
            "in_context_tools:\n  drive:\n    tool: [a]",
            3,
            "in_context_tools.drive.tool",
            "unknown key 'in_context_tools.drive.tool'",
            "did you mean 'tools'?",
        ),
        (
            "in_context_tools:\n  drive:\n    tools: [a, [b]]",
            3,
            "in_context_tools.drive.tools.1",
            "must be a string, not ['b']",
            None,
        ),
        # What stands there by its current name is as wrong as ever.
        ("execution_mode: code\ncode_execution: 5", 2, "code_execution", "found 5", None),
        (
            "mcp: {code_execution: {sandbox: process}}\ncode_execution:\n  sandbox: 5",
            3,
            "code_execution.sandbox",
            "expected keys and values, found 5",
            None,
        ),
        (
            "code_execution:\n  sandbox: process",
            2,
            "code_execution.sandbox",
            "expected keys and values, found 'process'",
            None,
        ),
        (
            "code_execution:\n  workspace_dir: x",
            2,
            "code_execution.workspace_dir",
            "unknown key 'code_execution.workspace_dir'",
            ...,
        ),
        ("execution_mode: code\nmdoe: x", 2, "mdoe", "unknown key 'mdoe'", "did you mean 'mode'?"),
    ],
)
def test_an_error_names_line_and_key_as_they_were_written(
    file: Path, text: str, line: int, key: str, expected: str, hint: object
) -> None:
    error = error_of(file, text)

    assert (error.line, error.key) == (line, key)
    assert expected in error.message
    assert hint is ... or error.hint == hint


@pytest.mark.parametrize("word", ["subprocess", "none", "local", "None", "Local"])
@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("mcp:\n  code_execution:\n    sandbox: {}\n", 3, "mcp.code_execution.sandbox"),
        (
            "mcp:\n  code_execution:\n    sandbox:\n      backend: {}\n",
            4,
            "mcp.code_execution.sandbox.backend",
        ),
    ],
)
def test_nothing_but_its_name_asks_for_a_process_without_protection(
    file: Path, text: str, line: int, key: str, word: str
) -> None:
    error = error_of(file, text.replace("{}", word))

    assert (error.line, error.key) == (line, key)
    assert f"'{key}' is '{word}'; it can be bubblewrap, process" in error.message
    assert error.hint == "programs without any protection have to be asked for by name: backend: process"


@pytest.mark.parametrize(
    "text",
    [
        "mcp: &a {code_execution: *a}",
        "mcp: {code_execution: &a {sandbox: *a}}",
        "mcp: {code_execution: {sandbox: &a {backend: *a}}}",
        "in_context_tools: &a {x: *a}",
        "execution_mode: &a [*a]",
    ],
)
def test_what_contains_itself_is_an_error_like_any_other(file: Path, text: str) -> None:
    assert error_of(file, text).line == 1


# Servers of mcp.servers

SERVERS = """\
execution_mode: code
mcp:
  servers:
    drive:
      command: python
      args: [server.py, "${FOLDER}"]
      env: {TOKEN: "${DRIVE_TOKEN}"}
      cwd: here
      alwaysAllow: [x, 2020-01-01]
    issues: {url: "https://example.com/mcp", enabled: false}
"""


def entries(file: Path, text: str) -> dict[str, ServerEntry]:
    return {entry.name: entry for entry in read(file, text).servers}


def test_servers_of_both_files_are_servers(file: Path) -> None:
    (file.parent / "extensions_config.json").write_text('{"mcpServers": {"slack": {"command": "x"}}}')

    found = entries(file, SERVERS + "custom_tools: {web.go: 'a:go'}\n")

    assert list(found) == ["slack", "drive", "issues", "web"]
    assert [entry.file.name for entry in found.values()] == [
        *("extensions_config.json", "satchel.yaml", "satchel.yaml", "satchel.yaml")
    ]
    assert (found["drive"].transport, found["issues"].transport) == ("stdio", "http")
    assert (found["drive"].enabled, found["issues"].enabled) == (True, False)
    json.dumps(found["drive"].written)


def test_their_variables_and_paths_are_resolved_as_those_of_the_other_file(file: Path) -> None:
    target = resolve(entries(file, SERVERS)["drive"], {"FOLDER": "f", "DRIVE_TOKEN": "secret"})

    assert (target.command, target.args) == ("python", ("server.py", "f"))
    assert dict(target.env) == {"TOKEN": "secret"}
    assert target.cwd == file.parent / "here"
    assert "secret" in target.secrets


@pytest.mark.parametrize(
    ("environment", "variable", "line"), [({}, "FOLDER", 6), ({"FOLDER": "f"}, "DRIVE_TOKEN", 7)]
)
def test_a_variable_that_is_not_set_is_named_with_its_line(
    file: Path, environment: Mapping[str, str], variable: str, line: int
) -> None:
    configuration = read(file, SERVERS)

    with pytest.raises(NeedsSetupError, match=rf"variable {variable} .*{re.escape(str(file))}:{line}\)"):
        resolve(configuration.servers[0], environment)
    server = read_catalog(paths_of(file), environment).snapshot.server("drive")
    assert server.state == "needs setup"
    assert server.error is not None
    assert f"{file}:{line}" in server.error


@pytest.mark.parametrize(
    ("entry", "line", "expected"),
    [
        ("drive: 5", 4, "server 'drive' must be an object with 'command' or 'url'"),
        ("drive:", 4, "server 'drive' must be an object with 'command' or 'url'"),
        ("drive: {}", 4, "server 'drive' has neither 'command' nor 'url'"),
        ("drive:\n      command: x\n      url: y", 6, "server 'drive' has both 'command' and 'url'"),
        ("drive:\n      comand: x", 5, "unknown key 'comand'"),
        (
            "drive:\n      command: x\n      args:\n      - a\n      - 5",
            8,
            "'args.1' must be a string, not 5",
        ),
        ("drive:\n      command: x\n      env:\n        PORT: 80", 7, "'env.PORT' must be a string, not 80"),
        ("drive:\n      command: x\n      env: {A: 2020-01-02}", 6, "'env.A' must be a string"),
        ("drive:\n      url: x\n      type: carrier", 6, "has type 'carrier'; it can be stdio, http or sse"),
        ("drive:\n      command: x\n      disabled: 5", 6, "'disabled' that is neither true nor false"),
        ("drive:\n      command: x\n      ? 2020-01-01\n      : y", 6, "unknown key '2020-01-01'"),
        ("drive: &a\n      command: x\n      env: {A: *a}", 6, "'env.A' must be a string"),
        ("drive:\n      command: x\n      envs:\n        A: 5", 7, "'env.A' must be a string"),
        ("drive:\n      command: x\n      env: {}\n      envs: {}", 7, "has both 'env' and 'envs'"),
    ],
)
def test_a_faulty_entry_is_a_problem_of_its_own_server_with_its_line(
    file: Path, entry: str, line: int, expected: str
) -> None:
    text = f"mcp:\n  servers:\n    good: {{command: x}}\n    {entry}\n"
    found = entries(file, text)

    assert found["good"].problem is None
    problem = found["drive"].problem
    assert problem is not None
    assert (problem.file, problem.line) == (file, line)
    assert problem.message.startswith(f"{file}:{line}: ")
    assert expected in problem.message
    snapshot = read_catalog(paths_of(file), {}).snapshot
    assert (snapshot.server("good").state, snapshot.server("drive").state) == ("not listed", "needs setup")


def test_a_faulty_entry_that_is_switched_off_stays_so(file: Path) -> None:
    found = entries(file, "mcp: {servers: {a: {enabled: false, x: 1}, b: {disabled: true, x: 1}, c: {x: 1}}}")

    assert [entry.enabled for entry in found.values()] == [False, False, True]


def test_the_name_of_a_server_may_be_anything_that_yaml_has(file: Path) -> None:
    found = entries(
        file, "mcp:\n  servers:\n    5: {command: x}\n    on: {command: x, y: 1}\n    ü: {url: x}\n"
    )

    assert list(found) == ["5", "True", "ü"]
    assert [entry.locate(())[1] for entry in found.values()] == [3, 4, 5]


def test_envs_are_variables_and_a_value_with_only_a_dollar_is_one_of_the_environment(file: Path) -> None:
    text = (
        "mcp:\n  servers:\n    drive:\n      command: x\n      envs:\n"
        "        KEY: $DRIVE_KEY\n        OTHER: ${DRIVE_KEY}\n        PRICE: 5$\n        PATTERN: ^a$b\n"
    )
    configuration = read(file, text)
    (entry,) = configuration.servers

    assert dict(resolve(entry, {"DRIVE_KEY": "secret"}).env) == {
        "KEY": "secret",
        "OTHER": "secret",
        "PRICE": "5$",
        "PATTERN": "^a$b",
    }
    assert "secret" in resolve(entry, {"DRIVE_KEY": "secret"}).secrets
    assert "satchel.yaml:5: 'mcp.servers.drive.envs' is now 'env'" in configuration.notes
    with pytest.raises(
        NeedsSetupError, match=rf"DRIVE_KEY is not set .'envs.KEY' in {re.escape(str(file))}:6"
    ):
        resolve(entry, {})


@pytest.mark.parametrize("value", ["[drive, slack]", "drive", "5", "true"])
def test_anything_but_servers_by_name_is_refused(file: Path, value: str) -> None:
    error = error_of(file, f"mcp:\n  execution_mode: code\n  servers: {value}\n")

    assert (error.line, error.key) == (3, "mcp.servers")
    assert "'mcp.servers' must be keys and values, not " in error.message
    assert error.hint is not None
    assert "enabled: false" in error.hint


def test_of_two_servers_with_one_name_that_of_the_other_file_counts(file: Path) -> None:
    other = file.parent / "extensions_config.json"
    other.write_text('{"mcpServers": {"issues": {"command": "x"}}}')

    configuration = read(file, SERVERS)

    assert [(entry.name, entry.file) for entry in configuration.servers] == [
        ("issues", other),
        ("drive", file),
    ]
    assert configuration.notes == (
        "satchel.yaml:1: 'execution_mode' is now 'mode'",
        "satchel.yaml:3: 'mcp.servers' is now 'mcpServers' in extensions_config.json",
        "satchel.yaml:10: server 'issues' is not used, because extensions_config.json has one",
    )


def test_a_group_of_custom_tools_with_the_name_of_such_a_server_is_refused(file: Path) -> None:
    error = error_of(file, SERVERS + "custom_tools:\n  drive.go: a:go\n")

    assert (error.line, error.key) == (12, "custom_tools.drive.go")
    assert f"the name of a server in {file}:4" in error.message


def test_their_code_can_not_be_granted_to_programs(file: Path) -> None:
    (file.parent / "server.py").touch()

    code = read(file, "mcp: {servers: {drive: {command: ./run, args: [server.py]}}}").code({})

    assert {file.parent / "run", file.parent / "server.py"} <= set(code)


def test_they_are_in_the_catalog_although_yaml_has_values_that_json_has_not(file: Path) -> None:
    """The key of the cache is made of the entry as written."""
    configuration = read(file, SERVERS)
    catalog = read_catalog(paths_of(file), {"FOLDER": "f", "DRIVE_TOKEN": "t"})

    assert [server.state for server in catalog.snapshot.servers] == ["not listed", "disabled"]
    assert configuration.servers == read_configuration(paths_of(file)).servers


# While running


@pytest.fixture
def source(file: Path) -> LiveConfiguration:
    file.write_text("execution_mode: code\n")
    return LiveConfiguration(paths_of(file))


def test_a_change_of_a_name_from_elsewhere_is_seen_at_once(file: Path, source: LiveConfiguration) -> None:
    assert source.follow().settings.mode == "code"
    assert source.follow().notes == ("satchel.yaml:1: 'execution_mode' is now 'mode'",)

    file.write_text("# now\nexecution_mode: direct\nmcp: {servers: {drive: {command: x}}}\n")

    assert source.follow().settings.mode == "direct"
    assert [entry.name for entry in source.follow().servers] == ["drive"]
    assert source.follow().notes[0] == "satchel.yaml:2: 'execution_mode' is now 'mode'"

    file.write_text("mode: direct\n")

    assert source.follow().servers == ()
    assert source.follow().notes == ()


@pytest.mark.parametrize(
    "text",
    [
        "execution_mode: fast\n",
        "mcp: {servers: [drive]}\n",
        "mcp: {code_execution: {sandbox: none}}\n",
        "{execution_mode: code, code_execution: {mode: never}}\n",
    ],
)
def test_a_file_that_has_become_wrong_leaves_the_last_good_one_in_use(
    file: Path, source: LiveConfiguration, text: str
) -> None:
    good = source.follow()

    file.write_text(text)

    assert source.follow() is good
    assert source.error is not None
    assert source.error.line == 1
    assert good.notes == ("satchel.yaml:1: 'execution_mode' is now 'mode'",)  # of the text that was read

    file.write_text("execution_mode: code\n\n")

    assert source.follow() == good
    assert source.error is None


def test_a_server_that_moves_to_the_other_file_stays_one_server(
    file: Path, source: LiveConfiguration
) -> None:
    file.write_text("mcp: {servers: {drive: {command: x}}}\n")
    assert [entry.file.name for entry in source.follow().servers] == ["satchel.yaml"]

    (file.parent / "extensions_config.json").write_text('{"mcpServers": {"drive": {"command": "x"}}}')

    assert [entry.file.name for entry in source.follow().servers] == ["extensions_config.json"]
    assert "is not used" in source.follow().notes[-1]


@pytest.mark.parametrize("text", ["mode: [\n", None, b"\xff\xfe"], ids=["broken", "gone", "binary"])
def test_an_entry_has_no_line_where_its_file_can_not_be_read_any_more(
    file: Path, text: str | bytes | None
) -> None:
    (entry,) = entries(file, "mcp: {servers: {drive: {command: '${UNSET}'}}}\n").values()

    file.unlink()
    if text is not None:
        file.write_bytes(text if isinstance(text, bytes) else text.encode())

    assert entry.locate(("command",)) == (file, None)
    with pytest.raises(NeedsSetupError, match="variable UNSET is not set"):
        resolve(entry, {})


# What it costs, what is documented, and what people see


@pytest.mark.parametrize(("text", "imported"), [(None, ""), ("mode: code\n", ""), ("mcp: {}\n", "aliases")])
def test_the_table_is_only_read_where_a_file_has_other_names(
    file: Path, text: str | None, imported: str
) -> None:
    if text is not None:
        file.write_text(text)
    program = (
        "import sys; from pathlib import Path; from satchel.config import find_paths, read_configuration\n"
        "configuration = read_configuration(find_paths(config=Path(sys.argv[1])))\n"
        "assert configuration.notes == ()\n"
        "print(*(name.rpartition('.')[2] for name in sys.modules if name == 'satchel.config.aliases'))\n"
        "assert len(sys.argv[2]) or not {'yaml', 'satchel.config.settings'} & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(file.parent), text or ""],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=os.environ,
    )
    assert done.stdout.strip() == imported


def test_exactly_the_names_that_are_accepted_are_documented() -> None:
    text = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    section = text.split("### Names from elsewhere\n")[1].split("\n### ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| `")]
    documented = {re.findall(r"[\w.<>]+", cells[0])[0] for cells in rows}
    assert documented == {row.written for row in ALIASES} | {"mcp.execution_mode"}
    for row in ALIASES:
        words = [value for value in row.values or () if isinstance(value, str)]
        assert [word for word in words if word not in section] == []


@pytest.mark.e2e
def test_such_servers_are_listed_and_doctor_says_what_the_names_are_now(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    servers = {"good": raw("good"), "off": {"command": "x", "enabled": False}}
    (project.directory / "satchel.yaml").write_text(
        "execution_mode: code\n" + yaml.safe_dump({"mcp": {"servers": servers}})
    )

    listed = project.run("list")
    assert listed.code == 0
    assert "good  8 tools  listed    stdio" in listed.out
    assert "is now" not in listed.out + listed.err  # what works needs no word in every command
    assert project.run("list", "--json").json["total_tools"] == 8
    assert project.run("call", "good.echo", "text=hello").out == "hello\n"

    findings = project.run("doctor", "--json").json["findings"]
    notes = [finding for finding in findings if finding["check"] == "names"]
    assert [(note["subject"], note["level"], note["message"]) for note in notes] == [
        ("machine", "note", "satchel.yaml:1: 'execution_mode' is now 'mode'"),
        ("machine", "note", "satchel.yaml:3: 'mcp.servers' is now 'mcpServers' in extensions_config.json"),
    ]
    assert all(note["next_step"] for note in notes)
    (disabled,) = (finding for finding in findings if finding["subject"] == "off")
    assert re.fullmatch(rf"edit {project.directory}/satchel.yaml:\d+: .*", disabled["next_step"])
