"""Put the findings of the latest quarterly report into a deal's notes, and tell the team.

    satchel run programs/quarterly_report.py

The report has more than 100,000 characters. They stay in here: a model sees only what is printed.
"""
# ruff: noqa: F704  programs may await at the top level

from servers.google_drive import get_document, list_documents
from servers.salesforce import add_note, get_record
from servers.slack import post_message

reports = await list_documents(folder="Finance/Quarterly Reports", query="Quarterly")
latest = max(reports.documents, key=lambda document: document.modified_at)
report = await get_document(document_id=latest.id)
findings = [line for line in report.content.splitlines() if line.startswith("Finding:")]

deal = await get_record(object_type="Opportunity", record_id="OPP-001")
summary = "\n".join(line.replace("Finding:", "-") for line in findings)
note = await add_note(record_id="OPP-001", title=f"Findings of {report.title}", body=summary)
text = f"{deal.fields['name']}: {len(findings)} findings of {report.title} are in {note.id}"
message = await post_message(channel="sales", text=text)

print(f"{report.title}: {len(report.content):,} characters, {len(findings)} findings")
print(f"noted as {note.id} at OPP-001, {deal.fields['name']}")
print(f"told #{message.channel}")
result = {"document": latest.id, "note": note.id, "findings": len(findings)}
