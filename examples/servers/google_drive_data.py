"""What is in the example drive when it's new: folders, documents, comments. All of it is made up."""

from __future__ import annotations

from dataclasses import dataclass

from quarterly_report import Quarter, write_report
from state import Records

DOCUMENT = "application/vnd.google-apps.document"
SPREADSHEET = "application/vnd.google-apps.spreadsheet"
MARKDOWN = "text/markdown"

FOLDERS = {
    "Finance": "Everything with figures",
    "Finance/Quarterly Reports": "The reports to the management board",
    "Finance/Budgets": "Plans by year",
    "Sales": "Playbooks and price lists",
    "Product": "Roadmaps and research",
    "People": "Handbook and policies",
    "Legal": "Contracts and templates",
    "Meetings": "Notes",
}

QUARTERS = (
    Quarter(
        label="Q3 2025",
        gross_margin=66.1,
        operating_margin=9.2,
        net_retention=106,
        churned=31,
        customers=1_702,
        headcount=544,
        cash=29_300,
        summary="Growth came from new customers; existing ones held steady. Hardware was short all quarter.",
        findings=(
            "Supply of radio modules delayed $1.10M of orders into the next quarter.",
            "Net revenue retention of 106% is below the target of 110%.",
        ),
    ),
    Quarter(
        label="Q4 2025",
        gross_margin=66.8,
        operating_margin=9.9,
        net_retention=108,
        churned=28,
        customers=1_761,
        headcount=559,
        cash=31_050,
        summary="The year closed above plan. Delayed hardware arrived and the analytics plan was launched.",
        findings=(
            "Orders delayed by hardware supply were delivered in full by mid-December.",
            "The combined plan with analytics was bought by one new customer in four.",
        ),
    ),
    Quarter(
        label="Q1 2026",
        gross_margin=67.2,
        operating_margin=9.5,
        net_retention=109,
        churned=35,
        customers=1_798,
        headcount=571,
        cash=30_800,
        summary="A slow start to the year, as usual, with more losses than planned among small customers.",
        findings=(
            "Customers with fewer than five sites account for 27 of 35 losses.",
            "Payroll migration cost $0.40M more than planned.",
        ),
    ),
    Quarter(
        label="Q2 2026",
        gross_margin=67.9,
        operating_margin=10.4,
        net_retention=111,
        churned=26,
        customers=1_866,
        headcount=583,
        cash=32_600,
        summary="Retention passed its target for the first time and operating income rose with it.",
        findings=(
            "Net revenue retention reached 111% and passed the target of 110% for the first time.",
            "Field-service capacity limits installations in four countries.",
        ),
    ),
    Quarter(
        label="Q3 2026",
        gross_margin=68.4,
        operating_margin=11.6,
        net_retention=113,
        churned=22,
        customers=1_947,
        headcount=596,
        cash=35_900,
        summary=(
            "The best quarter so far in revenue, margin and retention. Existing customers brought most of the"
            " growth, and fewer customers left than in any quarter of the past two years. Two things need a"
            " decision: crews for installation are the limit to growth, and a fifth of revenue rests on nine"
            " customers."
        ),
        findings=(
            "Revenue grew 18.5% year over year to $48.72M; existing customers brought $5.70M of the $7.60M.",
            "Net revenue retention rose to 113%, the fourth rise in a row, led by the analytics plan.",
            "Losses fell to 22 customers, the lowest in two years, after the price change on small plans.",
            "Gross margin reached 68.4% because hardware returns fell to 1.2%.",
            "Installation crews are the limit to growth: $1.80M of signed orders wait for a date.",
            "Nine customers stand for 21% of revenue, and three of them renew in March 2027.",
            "Customers who connect by API open half as many tickets as those who import spreadsheets.",
        ),
        accounts_reviewed=190,
        contracts_listed=160,
        incidents_reviewed=38,
    ),
)
REPORT_DATES = {
    "Q3 2025": "2025-10-21T08:40:00Z",
    "Q4 2025": "2026-01-22T09:15:00Z",
    "Q1 2026": "2026-04-23T08:05:00Z",
    "Q2 2026": "2026-07-22T10:30:00Z",
    "Q3 2026": "2026-10-22T08:55:00Z",
}


@dataclass(frozen=True, kw_only=True)
class Seed:
    title: str
    folder: str
    owner: str
    modified_at: str
    content: str
    mime_type: str = DOCUMENT


FINANCE, SALES, PRODUCT = "finance@example.com", "amara.osei@example.com", "hiro.tanabe@example.com"
PEOPLE, LEGAL = "people@example.com", "legal@example.com"

OTHER_DOCUMENTS = (
    Seed(
        title="Quarterly Report Template",
        folder="Finance/Quarterly Reports",
        owner=FINANCE,
        modified_at="2025-09-12T07:30:00Z",
        content="Summary, key figures, regions, products, accounts, contracts, service, projects, people,\n"
        "risks, findings, outlook. Each finding has a line of its own, starting with the word Finding.\n",
    ),
    Seed(
        title="Budget 2027, first draft",
        folder="Finance/Budgets",
        owner=FINANCE,
        modified_at="2026-10-28T15:10:00Z",
        mime_type=SPREADSHEET,
        content="department,2026,2027\nEngineering,19400000,21100000\nSales,11200000,12000000\n"
        "Customer success,6100000,6900000\nOperations,8800000,10300000\nMarketing,4300000,4100000\n",
    ),
    Seed(
        title="Budget 2026",
        folder="Finance/Budgets",
        owner=FINANCE,
        modified_at="2025-12-04T11:00:00Z",
        mime_type=SPREADSHEET,
        content="department,2025,2026\nEngineering,17900000,19400000\nSales,10500000,11200000\n"
        "Customer success,5600000,6100000\nOperations,8200000,8800000\nMarketing,4200000,4300000\n",
    ),
    Seed(
        title="Sales playbook",
        folder="Sales",
        owner=SALES,
        modified_at="2026-08-19T13:20:00Z",
        content="Qualify by number of sites, not by turnover. Bring the findings of the latest quarterly\n"
        "report to every negotiation: buyers ask for retention and service quality first.\n",
    ),
    Seed(
        title="Price list 2026",
        folder="Sales",
        owner=SALES,
        modified_at="2026-02-02T09:00:00Z",
        mime_type=SPREADSHEET,
        content="plan,per site and month\nStarter,39\nStandard,85\nAnalytics,120\nEnterprise,on request\n",
    ),
    Seed(
        title="Competitor notes",
        folder="Sales",
        owner=SALES,
        modified_at="2026-09-30T16:45:00Z",
        content="Most rivals are tools built in-house. Two vendors bundle scheduling at no charge.\n",
    ),
    Seed(
        title="Roadmap 2027",
        folder="Product",
        owner=PRODUCT,
        modified_at="2026-10-30T10:05:00Z",
        content="First half: permissions, single invoice, connectors. Second half: offline mode.\n",
    ),
    Seed(
        title="Interviews with dispatchers",
        folder="Product",
        owner=PRODUCT,
        modified_at="2026-06-11T14:00:00Z",
        content="Eleven dispatchers, five companies. All change shifts by phone before they use the tool.\n",
    ),
    Seed(
        title="API guidelines",
        folder="Product",
        owner=PRODUCT,
        modified_at="2026-03-17T12:00:00Z",
        mime_type=MARKDOWN,
        content="# API guidelines\n\n- Names are nouns.\n- Every list has a limit.\n- Errors help.\n",
    ),
    Seed(
        title="Employee handbook",
        folder="People",
        owner=PEOPLE,
        modified_at="2026-01-08T08:00:00Z",
        content="Working hours, leave, equipment, travel. Questions go to the people team.\n",
    ),
    Seed(
        title="Interview questions",
        folder="People",
        owner=PEOPLE,
        modified_at="2026-05-21T09:40:00Z",
        content="Tell us about something you built and later took apart. What should we stop doing?\n",
    ),
    Seed(
        title="Data processing agreement, template",
        folder="Legal",
        owner=LEGAL,
        modified_at="2026-07-01T10:00:00Z",
        content="Parties, subject, duration, categories of data, measures, sub-processors, deletion.\n",
    ),
    Seed(
        title="Meridian Health, framework contract",
        folder="Legal",
        owner=LEGAL,
        modified_at="2026-09-18T11:25:00Z",
        content="Draft 3. Open: data residency, liability cap, notice period. The customer wants\n"
        "the current findings on service quality before it signs.\n",
    ),
    Seed(
        title="Board meeting 2026-10-27, notes",
        folder="Meetings",
        owner=FINANCE,
        modified_at="2026-10-27T17:30:00Z",
        content="The report for the third quarter was accepted. Sales shares its findings with open deals.\n",
    ),
    Seed(
        title="Weekly sales meeting, notes",
        folder="Meetings",
        owner=SALES,
        modified_at="2026-10-29T09:50:00Z",
        content="OPP-001 waits for a summary of the latest quarterly report. Post in #sales when done.\n",
    ),
)

REPORT_COMMENTS = (
    (
        "imogen.pryce@example.com",
        "2026-10-22T11:02:00Z",
        "Section 11 is the part the account teams need.",
        False,
    ),
    (
        "jonas.weidner@example.com",
        "2026-10-23T07:45:00Z",
        "Retention: is this before or after credits?",
        True,
    ),
    (FINANCE, "2026-10-23T08:10:00Z", "After credits, as in the quarters before.", True),
)


def seed(records: Records) -> None:
    for path, description in FOLDERS.items():
        records.put("folder", path, {"path": path, "description": description})
    for document in sorted([*quarterly_reports(), *OTHER_DOCUMENTS], key=lambda one: (one.folder, one.title)):
        add_document(records, document)
    report = next(one for one in records.all("document") if one["title"] == "Q3 2026 Quarterly Report")
    for author, created_at, text, resolved in REPORT_COMMENTS:
        id = f"comment-{records.next_number('comment'):03d}"
        records.put(
            "comment",
            id,
            {
                "id": id,
                "document_id": report["id"],
                "author": author,
                "created_at": created_at,
                "text": text,
                "resolved": resolved,
            },
        )


def quarterly_reports() -> list[Seed]:
    return [
        Seed(
            title=f"{quarter.label} Quarterly Report",
            folder="Finance/Quarterly Reports",
            owner=FINANCE,
            modified_at=REPORT_DATES[quarter.label],
            content=write_report(quarter),
        )
        for quarter in QUARTERS
    ]


def add_document(records: Records, document: Seed) -> str:
    """Store a document and return its id. The content is kept apart, so that listings don't read it."""
    id = f"doc-{records.next_number('document'):03d}"
    records.put(
        "document",
        id,
        {
            "id": id,
            "title": document.title,
            "folder": document.folder,
            "owner": document.owner,
            "modified_at": document.modified_at,
            "mime_type": document.mime_type,
            "size": len(document.content.encode()),
            "permissions": [{"email": document.owner, "role": "owner"}],
        },
    )
    records.put("content", id, {"text": document.content})
    return id
