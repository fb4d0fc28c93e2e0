"""What people decide about calls, at the command line."""
