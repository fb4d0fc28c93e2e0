"""What people decide: which data may go where."""
