"""What runs a program inside the box. Not part of what programs import."""
