"""What is in the example chat when it's new. People, addresses and messages are made up."""

from __future__ import annotations

from datetime import UTC, datetime

from state import Record, Records

YOU = "U000"

# id, name, real name, title, whether a program
USERS = (
    (YOU, "you", "You", "The account this server posts as", True),
    ("U001", "amara", "Amara Osei", "Head of sales", False),
    ("U002", "imogen", "Imogen Pryce", "Account manager", False),
    ("U003", "jonas", "Jonas Weidner", "Account manager", False),
    ("U004", "hiro", "Hiro Tanabe", "Head of product", False),
    ("U005", "elif", "Elif Kaya", "Finance", False),
    ("U006", "greta", "Greta Solheim", "Customer success", False),
    ("U007", "luis", "Luis Arrieta", "Site reliability", False),
    ("U008", "maeve", "Maeve Dunne", "People", False),
    ("U009", "deploy-bot", "Deploy bot", "Posts releases", True),
)

# id, name, topic, members, archived
CHANNELS = (
    ("C001", "general", "Announcements for everyone", 596, False),
    ("C002", "sales", "Open deals and what they need", 87, False),
    ("C003", "finance", "Figures, reports, closing", 36, False),
    ("C004", "product", "Roadmap and research", 64, False),
    ("C005", "incidents", "What is broken and who is on it", 112, False),
    ("C006", "customer-success", "Renewals, onboarding, references", 78, False),
    ("C007", "random", "Anything else", 402, False),
    ("C008", "office-move-2025", "Done, thanks to all", 41, True),
)

# channel, user, time, text, number of the message in this list that it replies to
MESSAGES = (
    ("C008", "U008", "2025-11-28T15:00", "All boxes have arrived. This channel can be closed.", None),
    ("C001", "U008", "2026-10-19T08:00", "The handbook has a new page on travel.", None),
    ("C005", "U007", "2026-10-20T05:41", "Exports are slow since 05:30. Looking into it.", None),
    ("C005", "U007", "2026-10-20T06:12", "Fixed: one large import held the queue. Report follows.", 2),
    ("C004", "U009", "2026-10-20T13:00", "Release 8.14 is live: scheduled exports, faster map.", None),
    ("C003", "U005", "2026-10-22T09:00", "The report for the third quarter is in the drive.", None),
    ("C003", "U001", "2026-10-22T09:20", "Thank you! The findings look good for retention.", 5),
    ("C006", "U006", "2026-10-23T10:30", "Two more references signed: one port, one hospital group.", None),
    ("C001", "U005", "2026-10-27T17:45", "The board accepted the quarterly report. Well done, all.", None),
    ("C007", "U004", "2026-10-28T11:55", "Who left a bag of plums in the kitchen? They are excellent.", None),
    ("C002", "U003", "2026-10-28T14:10", "OPP-004 moved to negotiation this morning.", None),
    ("C002", "U002", "2026-10-29T09:35", "Meridian asks for our latest figures before they sign.", None),
    (
        "C002",
        "U001",
        "2026-10-29T09:40",
        "Then put a summary of the quarterly findings into OPP-001, and tell us here when it's there.",
        11,
    ),
    ("C004", "U004", "2026-10-30T10:10", "Roadmap 2027 is open for comments until Friday.", None),
    ("C005", "U009", "2026-10-31T22:00", "Rehearsal of the fail-over done, no findings.", None),
)


def seed(records: Records) -> None:
    for id, name, real_name, title, is_bot in USERS:
        records.put(
            "user",
            id,
            {
                "id": id,
                "name": name,
                "real_name": real_name,
                "email": f"{real_name.lower().replace(' ', '.')}@example.com",
                "title": title,
                "is_bot": is_bot,
            },
        )
    for id, name, topic, member_count, is_archived in CHANNELS:
        records.put(
            "channel",
            id,
            {
                "id": id,
                "name": name,
                "topic": topic,
                "member_count": member_count,
                "is_archived": is_archived,
            },
        )
    posted: list[Record] = []
    for channel_id, user_id, time, text, reply_to in MESSAGES:
        moment = datetime.fromisoformat(time).replace(tzinfo=UTC)
        thread_ts = None if reply_to is None else posted[reply_to]["ts"]
        posted.append(add_message(records, channel_id, user_id, text, thread_ts=thread_ts, moment=moment))


def add_message(
    records: Records,
    channel_id: str,
    user_id: str,
    text: str,
    *,
    thread_ts: str | None = None,
    moment: datetime | None = None,
) -> Record:
    """Store a message, now unless another time is given, and return it."""
    moment = moment or records.next_time()
    message: Record = {
        "ts": f"{int(moment.timestamp())}.000100",
        "channel_id": channel_id,
        "user_id": user_id,
        "text": text,
        "thread_ts": thread_ts,
        "reactions": [],
    }
    records.put("message", f"{channel_id}/{message['ts']}", message)
    return message
