"""Writes `listings/` and `extensions_config.json`: 52 made-up services and what each would list and return.

    python make_listings.py [DIRECTORY]

The services have the names of real ones, and tools and records of our own making. The same table gives the
same bytes. To replay your own servers instead, put what they answered into `listings/` in the same form.
"""

import json
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]

# A record of each kind of thing; the type of a field is that of its value.
THINGS: dict[str, Json] = {
    "app": {"name": "storefront", "status": "running"},
    "article": {"title": "Supply chain", "text": "A supply chain is a network of suppliers."},
    "bucket": {"name": "reports", "region": "eu-central-1"},
    "call": {"number": "+1 555 0100", "seconds": 312},
    "campaign": {"subject": "What is new this autumn", "recipients": 4210},
    "card": {"title": "Check the import", "column": "Doing"},
    "channel": {"name": "sales", "topic": "Deals and forecasts"},
    "charge": {"amount": 1900, "currency": "USD", "paid_at": "2026-10-14"},
    "cluster": {"name": "production", "nodes": 6},
    "contact": {"name": "Ana Lima", "email": "ana.lima@example.com"},
    "conversation": {"subject": "Invoice is missing", "open": True},
    "dataset": {"name": "retail-prices", "rows": 120000},
    "deal": {"name": "Framework contract", "amount": 84000, "stage": "Negotiation"},
    "deployment": {"url": "https://app.example.com", "status": "ready"},
    "document": {"title": "Q4 plan", "text": "Three regions, two launches."},
    "email": {"to": "team@example.com", "subject": "Q4 plan", "text": "The plan is attached."},
    "event": {"title": "Quarterly review", "start": "2026-11-20T09:00:00Z"},
    "file": {"name": "forecast.xlsx", "size": 48213},
    "function": {"name": "resize-images", "runtime": "python3.13"},
    "index": {"name": "products", "documents": 53120},
    "instance": {"name": "web-1", "zone": "europe-west1-b"},
    "invoice": {"amount": 7400, "due": "2026-12-01", "paid": False},
    "issue": {"title": "Total is rounded twice", "status": "open", "assignee": "ana"},
    "item": {"key": "session:41", "value": "active"},
    "job": {"name": "nightly-build", "status": "passed"},
    "machine": {"name": "worker-3", "size": "B2s"},
    "meeting": {"topic": "Forecast", "start": "2026-11-19T14:00:00Z"},
    "message": {"channel": "#sales", "text": "The forecast is up to date."},
    "node": {"label": "Customer", "name": "Meridian Health"},
    "opportunity": {
        "name": "Meridian Health",
        "amount": 240000,
        "stage": "Closed Won",
        "closed": "2026-11-05",
    },
    "order": {"total": 129, "status": "shipped"},
    "page": {"title": "Onboarding", "text": "Start with the handbook."},
    "paper": {"title": "Tool use by language models", "year": 2026},
    "pipeline": {"name": "main", "status": "passed"},
    "post": {"text": "We are hiring.", "likes": 120},
    "pull_request": {"title": "Round totals once", "status": "open"},
    "repository": {"name": "billing", "stars": 41},
    "result": {"query": "population of France", "answer": "68.6 million"},
    "row": {"table": "orders", "values": "41, shipped, 129.00"},
    "site": {"name": "handbook", "status": "published"},
    "task": {"title": "Prepare the review", "due": "2026-11-18", "done": False},
    "ticket": {"subject": "Login fails", "status": "open", "priority": "high"},
    "video": {"title": "Product tour", "views": 20411},
}

# Name, what it is, and its tools: a verb and a thing.
SERVICES = """
google-drive    Files of a company drive    list_files search_files get_file create_file
gmail    Mail    search_emails get_email send_email list_emails
google-calendar    Calendars    list_events create_event update_event get_event
google-docs    Text documents    get_document create_document update_document search_documents
notion    Notes and wikis    search_pages get_page create_page update_page
confluence    A company wiki    search_pages get_page create_page list_pages
slack    Team chat    list_channels post_message search_messages get_message
discord    Community chat    list_channels send_message list_messages get_channel
teams    Team chat and meetings    list_channels send_message create_meeting list_meetings
zoom    Video meetings    list_meetings create_meeting get_meeting update_meeting
dropbox    Files in folders    list_files get_file search_files create_file
box    Files of a company    list_files get_file search_files update_file
github    Code, issues and reviews    list_repositories search_issues create_issue list_pull_requests
gitlab    Code, issues and pipelines    list_repositories list_issues create_issue list_pipelines
bitbucket    Code and reviews    list_repositories list_pull_requests get_pull_request create_pull_request
linear    Issues of product teams    list_issues create_issue update_issue search_issues
jira    Issues and projects    search_issues get_issue create_issue update_issue
asana    Tasks of teams    list_tasks create_task update_task search_tasks
trello    Boards of cards    list_cards create_card update_card get_card
jenkins    Builds    list_jobs get_job create_job update_job
circleci    Builds in the cloud    list_pipelines get_pipeline create_pipeline list_jobs
vercel    Web deployments    list_deployments get_deployment create_deployment list_sites
netlify    Web sites    list_sites create_site list_deployments get_deployment
heroku    Apps    list_apps get_app create_app update_app
aws    Cloud of Amazon    list_buckets list_instances list_functions get_instance
gcp    Cloud of Google    list_instances list_buckets list_clusters get_cluster
azure    Cloud of Microsoft    list_machines get_machine create_machine list_functions
postgres    A PostgreSQL database    search_rows get_row create_row update_row
mysql    A MySQL database    search_rows get_row create_row update_row
mongodb    A MongoDB database    search_documents get_document create_document update_document
redis    Keys and values    get_item create_item list_items search_items
elasticsearch    Full-text search    list_indexes search_documents get_document create_index
neo4j    A graph database    search_nodes get_node create_node update_node
dynamodb    A table of items    get_item create_item search_items update_item
cassandra    Wide rows    search_rows get_row create_row list_rows
salesforce    Customers and deals    list_opportunities get_opportunity update_opportunity search_contacts
hubspot    Contacts and deals    list_deals get_deal update_deal search_contacts
stripe    Payments    list_charges get_charge create_charge list_invoices
shopify    A web shop    list_orders get_order update_order search_orders
quickbooks    Bookkeeping    list_invoices get_invoice create_invoice update_invoice
zendesk    Support tickets    list_tickets get_ticket update_ticket search_tickets
intercom    Support chat    list_conversations get_conversation update_conversation search_contacts
mailchimp    Newsletters    list_campaigns create_campaign send_campaign list_contacts
sendgrid    Transactional mail    send_email list_emails get_email list_contacts
twilio    Calls and text messages    send_message list_messages list_calls get_call
arxiv    Preprints    search_papers get_paper list_papers
pubmed    Medical papers    search_papers get_paper list_papers
wikipedia    An encyclopedia    search_articles get_article list_articles
wolfram    Computed answers    search_results get_result list_results
kaggle    Data sets    search_datasets get_dataset list_datasets
youtube    Videos    search_videos get_video list_videos
twitter    Short posts    search_posts post_post get_post list_posts
"""

RECORDS = 3
TYPES = {str: "string", int: "integer", bool: "boolean"}
LIMIT = {"type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": "At most this many."}


def main(place: Path) -> None:
    rows = [line.split("    ") for line in SERVICES.strip().splitlines()]
    (place / "listings").mkdir(parents=True, exist_ok=True)
    for name, about, tools in rows:
        (place / "listings" / f"{name}.json").write_text(as_text(listing(name, about, tools.split())))
    entries = {
        name: {"command": "python", "args": ["replay.py", f"listings/{name}.json"], "description": about}
        for name, about, _ in rows
    }
    lines = ",\n".join(f"    {json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items())
    (place / "extensions_config.json").write_text(f'{{\n  "mcpServers": {{\n{lines}\n  }}\n}}\n')


def listing(name: str, about: str, tools: list[str]) -> Json:
    made = {tool: make_tool(tool) for tool in tools}
    return {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": name, "version": "1.0.0"},
            "instructions": f"{about}, made up for an example.",
        },
        "tools": [definition for definition, _ in made.values()],
        "answers": {tool: answer for tool, (_, answer) in made.items()},
    }


def make_tool(name: str) -> tuple[Json, Json]:
    """Its definition, and what it returns."""
    verb, _, written = name.partition("_")
    thing = singular(written)
    several, words = thing != written, thing.replace("_", " ")
    fields = {field: {"type": TYPES[type(value)]} for field, value in THINGS[thing].items()}
    records = [{"id": f"{thing}-{number}", **THINGS[thing]} for number in range(1, RECORDS + 1)]
    record = {
        "type": "object",
        "properties": {"id": {"type": "string"}, **fields},
        "required": ["id", *fields],
    }
    identity = {"type": "string", "description": f"Id of the {words}, such as {thing}-1."}
    query = {"type": "string", "description": "Words to look for."}
    takes: dict[str, tuple[Json, list[str]]] = {
        "list": ({"limit": LIMIT}, []),
        "search": ({"query": query, "limit": LIMIT}, ["query"]),
        "get": ({"id": identity}, ["id"]),
        "update": ({"id": identity, **fields}, ["id"]),
    }
    properties, required = takes.get(verb, (fields, list(fields)))
    output, answer = record, records[0]
    if several:
        output = {"type": "object", "properties": {written: {"type": "array", "items": record}}}
        output["required"], answer = [written], {written: records}
    definition = {
        "name": name,
        "description": f"{verb.capitalize()} {written.replace('_', ' ') if several else f'one {words}'}.",
        "inputSchema": {"type": "object", "properties": properties, "required": required},
        "outputSchema": output,
        "annotations": {"readOnlyHint": verb in ("list", "search", "get")},
    }
    return definition, answer


def singular(written: str) -> str:
    """The thing that a tool is about: `list_repositories` is about a repository."""
    endings = (("ies", "y"), ("xes", "x"), ("s", ""), ("", ""))
    found = (written.removesuffix(old) + new for old, new in endings if written.endswith(old))
    return next(thing for thing in found if thing in THINGS)


def as_text(value: Json) -> str:
    """JSON with each tool and each answer in a line of its own."""
    tools = ",\n".join(json.dumps(tool) for tool in value["tools"])
    answers = ",\n".join(
        f"{json.dumps(tool)}: {json.dumps(answer)}" for tool, answer in value["answers"].items()
    )
    head = json.dumps(value["initialize"])
    return f'{{"initialize": {head},\n"tools": [\n{tools}\n],\n"answers": {{\n{answers}\n}}}}\n'


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
