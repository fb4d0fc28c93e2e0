"""The benchmark of tool search: quality on labelled queries, and time and memory beside FastMCP's."""
