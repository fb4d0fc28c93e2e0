"""The commands of the loop: ask, chat, conversations."""
