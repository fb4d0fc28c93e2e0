"""What runs programs. Each backend answers for itself; `sandbox/choose.py` has the table."""
