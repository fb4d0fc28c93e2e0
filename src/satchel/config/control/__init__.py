"""The sections of satchel.yaml about what calls need besides permission."""
