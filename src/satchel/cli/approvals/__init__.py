"""The commands of `satchel approvals`."""
