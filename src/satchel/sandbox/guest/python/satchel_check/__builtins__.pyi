# What a program has without an import. The checker looks for this file on its search path.
from collections.abc import Mapping as _Mapping
from typing import Any as _Any

async def call_mcp_tool(name: str, arguments: _Mapping[str, _Any] | None = None) -> _Any: ...
