#!/usr/bin/env bash
# The running example: three services, their tools, calls that change something, and all of it as one program, in
# Python and in TypeScript. Works on a copy of the examples in a temporary directory and leaves nothing behind.
set -euo pipefail
examples=$(cd "$(dirname "$0")" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export XDG_CACHE_HOME="$place/cache" XDG_DATA_HOME="$place/data" XDG_CONFIG_HOME="$place/config" XDG_STATE_HOME="$place/state"
cp -r "$examples/servers" "$examples/programs" "$examples/count_tokens.py" "$examples/extensions_config.json" "$place/"
cd "$place"

step() { printf '\n\033[1m$ %s\033[0m\n' "$*"; "$@"; }

step satchel list
step satchel list google-drive
step satchel show google-drive.get_document

echo
echo "# The latest quarterly report, found and read; what a tool returns can be piped."
latest=$(satchel call google-drive.list_documents folder="Finance/Quarterly Reports" query=Quarterly --json |
  python -c 'import json,sys; d=json.load(sys.stdin)["documents"]; print(max(d, key=lambda x: x["modified_at"])["id"])')
satchel call google-drive.get_document document_id="$latest" --json --output report.json
findings=$(python -c '
import json
lines = json.load(open("report.json"))["content"].splitlines()
print("\n".join(line for line in lines if line.startswith("Finding:")))')
printf '%s\n' "$findings" | head -3

step satchel call salesforce.get_record object_type=Opportunity record_id=OPP-001
step satchel call salesforce.add_note record_id=OPP-001 title="Findings of $latest" body="$findings"
step satchel call slack.post_message channel=sales text="OPP-001 has the findings of $latest"

echo
echo "# Every tool as a typed function, one file each, in both languages."
step satchel generate
step cat .satchel/code-api/python/servers/slack/list_channels.py
step cat .satchel/code-api/typescript/servers/slack/listChannels.ts

echo
echo "# Mistakes are caught before anything is sent."
step satchel call slack.post_message chanel=sales || true
step satchel call slack.post_mesage channel=sales || true

step satchel doctor slack

echo
echo "# The whole job as one program, in a sandbox. The report stays in it; a model would see these lines."
step cat programs/quarterly_report.py
step satchel run programs/quarterly_report.py 2>&1 | tee python.txt

echo
echo "# The same program in TypeScript, in the same sandbox; its types are checked before it runs."
step cat programs/quarterly_report.ts
step satchel run --check programs/quarterly_report.ts 2>&1 | tee typescript.txt

echo
echo "# Both must print and return the same, but for the number of the note, which is the next free one."
for language in python typescript; do sed -E '1,2d; s/NOTE-[0-9]+/NOTE/' $language.txt >$language.same; done
diff python.same typescript.same
step grep result: python.txt typescript.txt

step satchel audit --since 1h
execution=$(satchel executions --limit 1 --json |
  python -c 'import json,sys; print(json.load(sys.stdin)["executions"][0]["id"])')
step satchel show-execution "$execution"

echo
echo "# What a model would have read and written, each way, counted with a real tokenizer."
step python count_tokens.py

echo
echo "# The program that worked is kept as a skill; the next program imports it, and is two lines long."
saved=$(satchel executions --json | python -c '
import json, sys
print(next(row["id"] for row in json.load(sys.stdin)["executions"] if row["language"] == "python"))')
step satchel skills save "$saved" --name quarterly-report \
  --description "Notes the findings of the latest quarterly report at a deal, and tells the team"
step cat .satchel/skills/default/quarterly-report/SKILL.md
step cat programs/use_skill.py
step satchel run programs/use_skill.py
step satchel skills check
