# type: ignore
# ruff: noqa: F704
from servers.google_drive import get_document

report = await get_document(document_id="doc-006")
lines = report.content.splitlines()
print(*(line for line in lines if line.startswith("## ") or "finding" in line.lower()), sep="\n")
