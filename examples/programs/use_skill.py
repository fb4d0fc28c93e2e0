"""Use what another program was saved as: its function, and nothing of how it does it.

    satchel skills save EXECUTION --name quarterly-report --description "…"
    satchel run programs/use_skill.py

The tools that it calls are called with the rights of this program's agent.
"""
# ruff: noqa: F704  programs may await at the top level

from skills.quarterly_report import quarterly_report

made = await quarterly_report()
print(f"the skill noted {made['findings']} findings as {made['note']}")
