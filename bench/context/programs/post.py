# type: ignore
# ruff: noqa: F704
from servers.slack import post_message

await post_message(channel="general", text="The new release is out.")
print("posted")
