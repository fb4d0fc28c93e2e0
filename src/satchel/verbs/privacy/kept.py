"""What a project keeps of personal data, for the person who owns it: told, revealed, forgotten.

No model and no surface over the network has these verbs.
"""

from satchel.config import Paths
from satchel.errors import ArgumentError, SatchelError
from satchel.privacy.vault import Vault
from satchel.store.privacy.interface import TokenSummary
from satchel.verbs.privacy.keeping import entry_of
from satchel.verbs.privacy.opening import open_tokens

_NO_KEY = b"\0" * 32  # nothing is made with it: the tokens that are put back have their letters


async def kept_tokens(paths: Paths) -> list[TokenSummary]:
    """How many tokens each conversation has; the one that was used last first."""
    async with open_tokens(paths) as store:
        return [] if store is None else await store.summaries()


async def reveal_token(paths: Paths, token: str) -> str:
    """What a token stands for. SatchelError where the state is another user's."""
    if not paths.is_state_ours:
        raise SatchelError(
            f"{paths.state} was not made by this user's Satchel",
            hint="the user who owns it can reveal its tokens",
        )
    vaults: dict[tuple[str, str], Vault] = {}
    async with open_tokens(paths) as store:
        rows = [] if store is None else await store.load_all()
    for agent, conversation, row in rows:
        entry = entry_of(row)
        if entry is not None:
            vaults.setdefault((agent, conversation), Vault(_NO_KEY)).table.put_back(entry)
    found = {str(entry.value) for vault in vaults.values() if (entry := vault.find(token)) is not None}
    if len(found) > 1:  # letters of two conversations that happen to be the same
        raise ArgumentError(f"{token[:100]} stands for different values in {len(found)} conversations")
    if not found:
        raise ArgumentError(
            f"the token {token[:100]} is not known here",
            hint="it may have ended, or be one of a process that could not write its database;"
            " satchel privacy status tells what is kept",
        )
    return found.pop()


async def forget_tokens(paths: Paths, conversation: str | None) -> int:
    """Remove the tokens of a conversation, or all; tells how many."""
    async with open_tokens(paths) as store:
        return 0 if store is None else await store.forget(conversation)
