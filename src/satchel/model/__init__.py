"""The nouns, as frozen values. No behaviour beyond reading themselves, no I/O, no imports of stages.

Each subject's file is loaded with the first of its names: making a class takes half a millisecond, and
commands that only look need few of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from satchel.model.approvals import Approval, ApprovalState, Decision, Scope
    from satchel.model.calls import (
        DEFAULT_CALLER,
        Ask,
        Call,
        Caller,
        CallResult,
        CallTool,
        Client,
        Link,
        Question,
    )
    from satchel.model.conversations import (
        Answer,
        ConversationRecord,
        Message,
        ModelAnswered,
        ModelAsked,
        Role,
        SkillSwitched,
        TellTurn,
        TextDelta,
        TodosWritten,
        ToolBegan,
        ToolEnded,
        ToolTold,
        TurnBegan,
        TurnEnded,
        TurnEvent,
        TurnRequest,
        Usage,
        silent_turn,
    )
    from satchel.model.events import (
        CallBegan,
        CallEnded,
        Event,
        Output,
        PersonAnswered,
        PersonAsked,
        ProgramBegins,
        ProgramWaits,
        Progress,
        ResourceChanged,
        ResourceFollowed,
        ServerFailed,
        ServerListed,
        ServerListing,
        Tell,
        silent,
    )
    from satchel.model.executions import LONGEST_PROGRAM, Execution, ExecutionRequest, ToolUse
    from satchel.model.imports import Comparison, ImportKind, ImportPlan, LeftOut
    from satchel.model.journal import CallRecord, CallStatus, ExecutionRecord, ToldMemoryRecord
    from satchel.model.memory import (
        Entry,
        EntryKind,
        FoundLine,
        MemoryProblem,
        Remembered,
        ToldMemory,
        Writer,
    )
    from satchel.model.packages import Package, PackagePart, SkillContext
    from satchel.model.plugins import (
        Command,
        CommandFile,
        Plugin,
        PluginManifest,
        PluginServer,
        Remark,
    )
    from satchel.model.reads import (
        PRIVATE,
        SENSITIVE,
        UNTRUSTED,
        Conversation,
        Reads,
        Source,
        labels_of,
        others_memory,
        others_notes,
    )
    from satchel.model.servers import (
        Change,
        Definitions,
        Difference,
        Json,
        Listing,
        Prompt,
        PromptArgument,
        Resource,
        Server,
        State,
        Tool,
        is_list,
        is_object,
    )
    from satchel.model.skills import Skill

__all__ = [
    "DEFAULT_CALLER",
    "LONGEST_PROGRAM",
    "PRIVATE",
    "SENSITIVE",
    "UNTRUSTED",
    "Answer",
    "Approval",
    "ApprovalState",
    "Ask",
    "Call",
    "CallBegan",
    "CallEnded",
    "CallRecord",
    "CallResult",
    "CallStatus",
    "CallTool",
    "Caller",
    "Change",
    "Client",
    "Command",
    "CommandFile",
    "Comparison",
    "Conversation",
    "ConversationRecord",
    "Decision",
    "Definitions",
    "Difference",
    "Entry",
    "EntryKind",
    "Event",
    "Execution",
    "ExecutionRecord",
    "ExecutionRequest",
    "FoundLine",
    "ImportKind",
    "ImportPlan",
    "Json",
    "LeftOut",
    "Link",
    "Listing",
    "MemoryProblem",
    "Message",
    "ModelAnswered",
    "ModelAsked",
    "Output",
    "Package",
    "PackagePart",
    "PersonAnswered",
    "PersonAsked",
    "Plugin",
    "PluginManifest",
    "PluginServer",
    "ProgramBegins",
    "ProgramWaits",
    "Progress",
    "Prompt",
    "PromptArgument",
    "Question",
    "Reads",
    "Remark",
    "Remembered",
    "Resource",
    "ResourceChanged",
    "ResourceFollowed",
    "Role",
    "Scope",
    "Server",
    "ServerFailed",
    "ServerListed",
    "ServerListing",
    "Skill",
    "SkillContext",
    "SkillSwitched",
    "Source",
    "State",
    "Tell",
    "TellTurn",
    "TextDelta",
    "TodosWritten",
    "ToldMemory",
    "ToldMemoryRecord",
    "Tool",
    "ToolBegan",
    "ToolEnded",
    "ToolTold",
    "ToolUse",
    "TurnBegan",
    "TurnEnded",
    "TurnEvent",
    "TurnRequest",
    "Usage",
    "Writer",
    "is_list",
    "is_object",
    "labels_of",
    "others_memory",
    "others_notes",
    "silent",
    "silent_turn",
]

_FILES = {
    "approvals": "Approval ApprovalState Decision Scope",
    "calls": "Ask Call CallResult CallTool Caller Client DEFAULT_CALLER Link Question",
    "conversations": "Answer ConversationRecord Message ModelAnswered ModelAsked Role SkillSwitched "
    "TellTurn TextDelta TodosWritten ToolBegan ToolEnded ToolTold TurnBegan TurnEnded TurnEvent "
    "TurnRequest Usage silent_turn",
    "events": "CallBegan CallEnded Event Output PersonAnswered PersonAsked ProgramBegins ProgramWaits "
    "Progress ResourceChanged ResourceFollowed ServerFailed ServerListed ServerListing Tell silent",
    "executions": "Execution ExecutionRequest LONGEST_PROGRAM ToolUse",
    "imports": "Comparison ImportKind ImportPlan LeftOut",
    "journal": "CallRecord CallStatus ExecutionRecord ToldMemoryRecord",
    "memory": "Entry EntryKind FoundLine MemoryProblem Remembered ToldMemory Writer",
    "packages": "Package PackagePart SkillContext",
    "plugins": "Command CommandFile Plugin PluginManifest PluginServer Remark",
    "reads": "Conversation PRIVATE Reads SENSITIVE Source UNTRUSTED labels_of others_memory others_notes",
    "servers": "Change Definitions Difference Json Listing Prompt PromptArgument Resource Server State Tool "
    "is_list is_object",
    "skills": "Skill",
}
_FILE_OF = {name: file for file, names in _FILES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _FILE_OF:
        raise AttributeError(f"module 'satchel.model' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(f"satchel.model.{_FILE_OF[name]}"), name)
    return value
