"""What can be asked of Satchel: one file per subject, typed, used by every surface."""
