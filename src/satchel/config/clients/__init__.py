"""Other MCP clients on this machine: their servers imported, Satchel connected to them."""
