"""What is in the example customer database when it's new. Companies, people and addresses are made up."""

from __future__ import annotations

from collections.abc import Sequence

from salesforce_objects import Value, add_record
from state import Records

YOU = "You"

AMARA, IMOGEN, JONAS, CARLA = "Amara Osei", "Imogen Pryce", "Jonas Weidner", "Carla Fontes"

# name, industry, country, sites, annual_value, owner
ACCOUNTS = (
    ("Meridian Health", "Hospital group", "United Kingdom", 64, 412_000, IMOGEN),
    ("Alderbrook Logistics", "Freight forwarding", "Germany", 38, 268_000, JONAS),
    ("Brightwater Foods", "Dairy", "Ireland", 21, 143_000, IMOGEN),
    ("Corvane Energy", "District heating", "Denmark", 57, 377_000, CARLA),
    ("Dunmore Retail Group", "Grocery retail", "United States", 212, 905_000, AMARA),
    ("Eastlight Rail", "Regional rail", "Poland", 44, 251_000, JONAS),
    ("Fallowfield Water", "Water utility", "Netherlands", 29, 166_000, CARLA),
    ("Glasswing Packaging", "Returnable crates", "Spain", 12, 71_000, CARLA),
    ("Ironbridge Facilities", "Airport services", "Canada", 33, 224_000, AMARA),
    ("Kestrel Cold Storage", "Vaccine storage", "Australia", 18, 158_000, JONAS),
    ("Northgate Logistics", "Port operations", "Sweden", 26, 0, CARLA),
    ("Saltmarsh Foods", "Food processing", "Brazil", 15, 0, AMARA),
)

# name, title, account number; the address is made from the name
CONTACTS = (
    ("Ruth Hallam", "Director of operations", 1),
    ("Tobias Okafor", "Chief information officer", 1),
    ("Priya Menon", "Head of procurement", 1),
    ("Anke Vogel", "Fleet manager", 2),
    ("Stefan Brandt", "Procurement", 2),
    ("Niamh Corrigan", "Quality manager", 3),
    ("Mads Kjaer", "Head of grid operation", 4),
    ("Signe Holm", "Finance lead", 4),
    ("Dana Whitlock", "Vice president of stores", 5),
    ("Marcus Bell", "IT architect", 5),
    ("Ewa Zielinska", "Timetable planning", 6),
    ("Piotr Wrona", "Head of depots", 6),
    ("Femke de Wit", "Asset manager", 7),
    ("Lucia Navarro", "General manager", 8),
    ("Andre Tremblay", "Ground services", 9),
    ("Chloe Sato", "Security officer", 9),
    ("Mia Lawson", "Compliance", 10),
    ("Karin Lindqvist", "Terminal director", 11),
    ("Rafael Duarte", "Plant manager", 12),
    ("Beatriz Lemos", "Procurement", 12),
)

# name, account number, stage, amount, close_date, owner, next_step
OPPORTUNITIES = (
    (
        "Meridian Health: framework contract",
        1,
        "Negotiation",
        640_000,
        "2026-12-11",
        IMOGEN,
        "Add a summary of the latest quarterly report's findings, which the customer asked for",
    ),
    ("Alderbrook: analytics for all depots", 2, "Proposal", 118_000, "2026-12-18", JONAS, "Send price"),
    ("Brightwater: second dairy", 3, "Qualification", 54_000, "2027-02-26", IMOGEN, "Visit the site"),
    ("Corvane: renewal and alerting", 4, "Negotiation", 402_000, "2026-11-27", CARLA, "Legal review"),
    ("Dunmore: 40 more stores", 5, "Proposal", 186_000, "2027-01-15", AMARA, "Agree on dates with crews"),
    ("Dunmore: single invoice", 5, "Prospecting", 90_000, "2027-04-30", AMARA, "Wait for the release"),
    ("Eastlight: offline mode pilot", 6, "Qualification", 35_000, "2027-03-19", JONAS, "Define the pilot"),
    ("Eastlight: depot sensors", 6, "Closed Won", 77_000, "2026-09-04", JONAS, None),
    ("Fallowfield: leak alerting", 7, "Proposal", 61_000, "2026-12-04", CARLA, "Present to the board"),
    ("Fallowfield: reporting", 7, "Closed Lost", 22_000, "2026-07-31", CARLA, None),
    ("Glasswing: crate tracking", 8, "Negotiation", 48_000, "2026-11-20", CARLA, "Sign"),
    ("Ironbridge: second terminal", 9, "Qualification", 132_000, "2027-05-28", AMARA, "Wait for permit"),
    ("Ironbridge: training", 9, "Closed Won", 14_000, "2026-08-14", AMARA, None),
    ("Kestrel: renewal", 10, "Negotiation", 171_000, "2026-12-22", JONAS, "Answer security questions"),
    ("Kestrel: three new warehouses", 10, "Prospecting", 88_000, "2027-06-30", JONAS, "Call compliance"),
    ("Northgate: first terminal", 11, "Proposal", 209_000, "2027-01-29", CARLA, "Reference call"),
    ("Northgate: weather alerts", 11, "Prospecting", 30_000, "2027-05-14", CARLA, None),
    ("Saltmarsh: plant pilot", 12, "Qualification", 27_000, "2027-02-12", AMARA, "Find an installer"),
    ("Meridian Health: laboratories", 1, "Prospecting", 95_000, "2027-06-11", IMOGEN, "Meet in spring"),
    ("Meridian Health: cold chain", 1, "Closed Won", 122_000, "2026-06-19", IMOGEN, None),
    ("Alderbrook: gateway replacement", 2, "Closed Won", 46_000, "2026-09-25", JONAS, None),
    ("Brightwater: temperature records", 3, "Closed Won", 39_000, "2026-05-08", IMOGEN, None),
    ("Corvane: billing", 4, "Closed Lost", 83_000, "2026-10-02", CARLA, None),
    ("Dunmore: analytics trial", 5, "Proposal", 64_000, "2026-12-16", AMARA, "Review the trial"),
    ("Glasswing: analytics", 8, "Prospecting", 19_000, "2027-03-05", CARLA, None),
)

# name, company, status, source, owner
LEADS = (
    ("Oskar Nyman", "Quillon Rail", "New", "Trade fair", JONAS),
    ("Leila Haddad", "Redfern Health", "Contacted", "Website", IMOGEN),
    ("Tom Abara", "Lowmoor Water", "Qualified", "Reference", CARLA),
    ("Ines Moreau", "Pellworth Foods", "New", "Website", CARLA),
    ("Grace Kimani", "Umberland Energy", "Contacted", "Partner", AMARA),
    ("Viktor Halas", "Thornbury Packaging", "Lost", "Trade fair", JONAS),
    ("Sora Ishii", "Yarrow Cold Storage", "Qualified", "Reference", JONAS),
    ("Daniel Frost", "Westering Logistics", "New", "Partner", AMARA),
)

# subject, kind, status, due_date, related_to, owner
TASKS = (
    ("Put the quarterly findings into OPP-001", "To do", "Open", "2026-11-06", "OPP-001", IMOGEN),
    ("Talk to Ruth Hallam about service quality", "Call", "Completed", "2026-10-28", "OPP-001", IMOGEN),
    ("Send the price for depots", "E-mail", "Open", "2026-11-04", "OPP-002", JONAS),
    ("Go through liability with Legal", "Meeting", "Open", "2026-11-05", "OPP-004", CARLA),
    ("Ask crews for free weeks in January", "To do", "Open", "2026-11-10", "OPP-005", AMARA),
    ("Answer the security questions", "To do", "Open", "2026-11-12", "OPP-014", JONAS),
    ("Set up a reference call with a port", "Call", "Open", "2026-11-09", "OPP-016", CARLA),
    ("Yearly review with Dunmore", "Meeting", "Completed", "2026-10-15", "ACC-005", AMARA),
)

MERIDIAN_DESCRIPTION = (
    "Replaces four contracts by one. The buying committee decides on 11 December and wants to see how we"
    " are doing before it signs."
)
FIRST_NOTE = "Ruth asks about service quality, retention, and whether we can install at twenty sites by June."


def seed(records: Records) -> None:
    add_all(records, "Account", ("name", "industry", "country", "sites", "annual_value", "owner"), ACCOUNTS)
    for number, (name, title, account) in enumerate(CONTACTS):
        add(
            records,
            "Contact",
            name=name,
            email=address(name),
            phone=f"+1 555 01{number:02d}",
            title=title,
            account_id=f"ACC-{account:03d}",
        )
    for name, account, stage, amount, close_date, owner, next_step in OPPORTUNITIES:
        add(
            records,
            "Opportunity",
            name=name,
            account_id=f"ACC-{account:03d}",
            stage=stage,
            amount=amount,
            close_date=close_date,
            owner=owner,
            next_step=next_step,
            description=MERIDIAN_DESCRIPTION if name.endswith("framework contract") else None,
        )
    for name, company, status, source, owner in LEADS:
        add(
            records,
            "Lead",
            name=name,
            company=company,
            email=address(name),
            status=status,
            source=source,
            owner=owner,
        )
    add_all(records, "Task", ("subject", "kind", "status", "due_date", "related_to", "owner"), TASKS)
    note = {
        "id": f"NOTE-{records.next_number('note'):03d}",
        "record_id": "OPP-001",
        "title": "Call with Ruth Hallam",
        "body": FIRST_NOTE,
        "author": IMOGEN,
        "created_at": "2026-10-28T10:20:00Z",
    }
    records.put("note", note["id"], note)


def add_all(
    records: Records, object_type: str, names: Sequence[str], rows: Sequence[Sequence[Value]]
) -> None:
    for row in rows:
        add(records, object_type, **dict(zip(names, row, strict=True)))


def add(records: Records, object_type: str, **data: Value) -> None:
    """Seeded records get times of October 2026 in the order in which they are added."""
    number = records.next_number("seeded")
    add_record(records, object_type, data, f"2026-10-{1 + number // 4:02d}T{8 + number % 4 * 2:02d}:15:00Z")


def address(name: str) -> str:
    return f"{name.lower().replace(' ', '.')}@example.com"
