"""Which skills a program imports, by its text."""

import pytest

from satchel.library.saved.uses import imported_skills


@pytest.mark.parametrize(
    ("program", "module"),
    [
        ("from skills.create_report import create_report", "create_report"),
        ("if True:\n    from skills.community.create_report import create_report as c", "create_report"),
        ("from skills.community import (\n    other,\n    create_report,  # it\n)", "create_report"),
        ("from skills import create_report", "create_report"),
        ("import skills.create_report as c", "create_report"),
        ('import { createReport } from "./skills/create-report";', "create-report"),
        ("import { createReport } from './skills/community/create-report.ts'", "create-report"),
        ("const skill = await import('./skills/create-report')", "create-report"),
    ],
)
def test_every_way_to_import_a_skill_is_known(program: str, module: str) -> None:
    assert module in imported_skills(program)


@pytest.mark.parametrize(
    "program",
    [
        "from skills.create_report_2 import create_report_2",
        "from servers.drive import create_report",
        "create_report()",
        "open('/mnt/skills/community/create-report/SKILL.md')",
        "from skills.other import other\ncreate_report = 1",
    ],
)
def test_what_is_not_an_import_of_the_skill_does_not_count(program: str) -> None:
    assert not {"create_report", "create-report"} & imported_skills(program)


@pytest.mark.parametrize(
    "piece",
    [
        "from skills ",
        "from  ",
        "from skills import (",
        "from skills import (\n",
        '"skills/',
        "import skills.a",
    ],
)
def test_a_hostile_program_is_read_in_linear_time(piece: str) -> None:
    imported_skills(piece * (1_000_000 // len(piece)))
