"""An example MCP server: a team chat with made-up people and messages, over stdio."""

from __future__ import annotations

from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field
from shared import ADDS, ADDS_ONCE, READS, tool, unknown
from slack_data import YOU, add_message, seed
from state import Record, Records, State

server = MCPServer(
    "slack",
    title="Slack (example)",
    version="1.0.0",
    instructions=(
        "A team chat. A channel can be given by name ('sales' or '#sales') or by id ('C002'). A message is"
        " known by its channel and its ts; pass a ts as thread_ts to reply to that message."
    ),
    log_level="WARNING",
)
state = State("slack", seed)

MAX_MESSAGE_CHARS = 40_000

ChannelName = Annotated[str, Field(description="Name or id of a channel, such as #sales or C002.")]
Limit = Annotated[int, Field(ge=1, le=200, description="At most this many results.")]


class Channel(BaseModel):
    id: str
    name: str = Field(description="Without the leading #.")
    topic: str
    member_count: int
    is_archived: bool


class ChannelList(BaseModel):
    channels: list[Channel]


class User(BaseModel):
    id: str
    name: str = Field(description="Name used in the chat.")
    real_name: str
    email: str
    title: str = Field(description="What the person does.")
    is_bot: bool


class UserList(BaseModel):
    users: list[User]


class Reaction(BaseModel):
    name: str = Field(description="Name of the emoji, without colons.")
    users: list[str] = Field(description="Ids of the users who reacted.")


class Message(BaseModel):
    ts: str = Field(description="Time of the message as seconds since 1970; with the channel, its identity.")
    channel_id: str
    channel: str = Field(description="Name of the channel.")
    user_id: str
    user: str = Field(description="Name of the author.")
    text: str
    thread_ts: str | None = Field(description="The ts of the message this one replies to.")
    reactions: list[Reaction]


class MessageList(BaseModel):
    messages: list[Message]
    has_more: bool = Field(description="There are more messages than the limit.")


@tool(server, READS)
def list_channels(
    include_archived: Annotated[
        bool, Field(description="Also channels nobody can post to any more.")
    ] = False,
) -> ChannelList:
    """List channels with their topics."""
    with state.reading() as records:
        channels = [Channel.model_validate(one) for one in records.all("channel")]
    return ChannelList(channels=[one for one in channels if include_archived or not one.is_archived])


@tool(server, ADDS)
def post_message(
    channel: ChannelName,
    text: Annotated[str, Field(min_length=1, description="The message, at most 40,000 characters.")],
    thread_ts: Annotated[str | None, Field(description="Reply to the message with this ts.")] = None,
) -> Message:
    """Post a message to a channel, or a reply to a message in it. Everyone in the channel sees it at once."""
    if len(text) > MAX_MESSAGE_CHARS:
        raise ToolError(
            f"The message has {len(text):,} characters and {MAX_MESSAGE_CHARS:,} are allowed."
            " Post a summary, or share a document and post its link."
        )
    with state.changing() as records:
        target = find_channel(records, channel)
        if target["is_archived"]:
            raise ToolError(f"#{target['name']} is archived. Call list_channels for the channels in use.")
        if thread_ts is not None:
            find_message(records, target, thread_ts)
        return as_message(records, add_message(records, target["id"], YOU, text, thread_ts=thread_ts))


@tool(server, READS)
def get_channel_history(
    channel: ChannelName,
    limit: Limit = 50,
    oldest: Annotated[str | None, Field(description="Only messages after this ts.")] = None,
    latest: Annotated[str | None, Field(description="Only messages before this ts.")] = None,
) -> MessageList:
    """Read a channel, newest message first. To go further back, pass the last ts as latest."""
    after = as_seconds("oldest", oldest, "0")
    before = as_seconds("latest", latest, "inf")
    with state.reading() as records:
        target = find_channel(records, channel)
        found = [
            one
            for one in reversed(records.all("message"))
            if one["channel_id"] == target["id"] and after < float(one["ts"]) < before
        ]
        return as_list(records, found, limit)


@tool(server, READS)
def list_users(
    query: Annotated[str | None, Field(description="Only people whose name or title contains this.")] = None,
    include_bots: Annotated[bool, Field(description="Also accounts of programs.")] = False,
) -> UserList:
    """List the people in the chat, with their e-mail addresses."""
    wanted = (query or "").lower()
    with state.reading() as records:
        users = [User.model_validate(one) for one in records.all("user")]
    return UserList(
        users=[
            one
            for one in users
            if (include_bots or not one.is_bot)
            and wanted in f"{one.name} {one.real_name} {one.title}".lower()
        ]
    )


@tool(server, READS)
def search_messages(
    query: Annotated[
        str, Field(min_length=1, description="Words that all occur in the message, in any case.")
    ],
    channel: Annotated[str | None, Field(description="Only in this channel (name or id).")] = None,
    user: Annotated[str | None, Field(description="Only from this person (name or id).")] = None,
    limit: Limit = 20,
) -> MessageList:
    """Search messages in all channels, newest first."""
    words = query.lower().split()
    with state.reading() as records:
        in_channel = find_channel(records, channel)["id"] if channel else None
        from_user = find_user(records, user)["id"] if user else None
        found = [
            one
            for one in reversed(records.all("message"))
            if all(word in one["text"].lower() for word in words)
            and in_channel in (None, one["channel_id"])
            and from_user in (None, one["user_id"])
        ]
        return as_list(records, found, limit)


@tool(server, ADDS_ONCE)
def add_reaction(
    channel: ChannelName,
    ts: Annotated[str, Field(description="The ts of the message to react to.")],
    name: Annotated[
        str, Field(pattern=r"^:?[a-z0-9_+\-]+:?$", description="Emoji, such as thumbsup or eyes.")
    ],
) -> Message:
    """React to a message with an emoji. Reacting twice with the same emoji changes nothing."""
    emoji = name.strip(":")
    with state.changing() as records:
        target = find_channel(records, channel)
        message = find_message(records, target, ts)
        reacted: dict[str, list[str]] = {one["name"]: one["users"] for one in message["reactions"]}
        users = reacted.setdefault(emoji, [])
        if YOU not in users:
            users.append(YOU)
        message["reactions"] = [{"name": name, "users": users} for name, users in reacted.items()]
        records.put("message", f"{target['id']}/{ts}", message)
        return as_message(records, message)


def find_channel(records: Records, channel: str) -> Record:
    channels = records.all("channel")
    for one in channels:
        if channel.removeprefix("#").lower() in (one["name"], one["id"].lower()):
            return one
    names = [f"#{one['name']}" for one in channels if not one["is_archived"]]
    raise unknown("channel", channel, names, f"The channels are: {', '.join(names)}.")


def find_user(records: Records, user: str) -> Record:
    users = records.all("user")
    for one in users:
        if user.removeprefix("@").lower() in (one["name"], one["id"].lower(), one["real_name"].lower()):
            return one
    raise unknown("user", user, [one["name"] for one in users], "Call list_users for all of them.")


def find_message(records: Records, channel: Record, ts: str) -> Record:
    message = records.get("message", f"{channel['id']}/{ts}")
    if message is None:
        raise ToolError(
            f"There is no message with the ts {ts!r} in #{channel['name']}."
            " Call get_channel_history for the messages of a channel."
        )
    return message


def as_seconds(parameter: str, ts: str | None, default: str) -> float:
    try:
        return float(ts or default)
    except ValueError:
        raise ToolError(
            f"{parameter} is {ts!r}; give the ts of a message, such as 1793000000.000100."
        ) from None


def as_list(records: Records, found: list[Record], limit: int) -> MessageList:
    return MessageList(
        messages=[as_message(records, one) for one in found[:limit]], has_more=len(found) > limit
    )


def as_message(records: Records, message: Record) -> Message:
    channel = records.get("channel", message["channel_id"]) or {}
    user = records.get("user", message["user_id"]) or {}
    return Message.model_validate({**message, "channel": channel["name"], "user": user["name"]})


if __name__ == "__main__":
    server.run()
