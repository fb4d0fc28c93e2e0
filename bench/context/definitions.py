"""What a model is given before the first message, for ever more servers."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.context.conversation import definition_tokens, text_tokens
from bench.context.servers import Place, recorded_servers, tokens_before
from bench.rows import Row

SIZES = (1, 5, 10, 20, 50, 75)
LIMIT = 1.0  # percent


@dataclass(frozen=True, kw_only=True)
class Definitions:
    """Tokens for so many servers. `through` is `direct` by way of Satchel, with the server in each name."""

    servers: int
    tools: int
    direct: int
    through: int
    instructions: int  # of the servers, which are not in `direct`
    code: int

    @property
    def share(self) -> float:
        """Percent of `direct` that `code` is."""
        return 100 * self.code / self.direct


def measure_definitions(place: Place, sizes: Sequence[int] = SIZES) -> list[Definitions]:
    return [_measure(place, size) for size in sizes]


def _measure(place: Place, size: int) -> Definitions:
    servers = recorded_servers()[:size]
    place.configure((), size)
    with place.served("code") as client:
        code = tokens_before(client)
    with place.served("direct") as client:
        shown = [tool for tool in client.tools() if tool["name"] != "memory"]  # which is Satchel's own
    tools = sum(len(server.tools) for server in servers)
    if len(shown) != tools:
        raise RuntimeError(f"{len(shown)} of {tools} tools were shown")
    return Definitions(
        servers=len(servers),
        tools=tools,
        direct=sum(server.tokens for server in servers),
        through=definition_tokens(shown),
        instructions=sum(text_tokens(server.about.get("instructions") or "") for server in servers),
        code=code,
    )


def definitions_row(measured: Definitions) -> Row:
    return Row(
        name=f"context: {measured.servers} servers",
        compared=f"tokens before the first message, {measured.tools:,} tools, code mode to direct",
        value=measured.share,
        limit=LIMIT,
        unit="%",
        notes=(
            f"{measured.code:,} to {measured.direct:,}; direct by way of Satchel, with the server in each"
            f" name, {measured.through:,}; the servers' own instructions, which are not counted, would be"
            f" {measured.instructions:,} more",
        ),
    )
