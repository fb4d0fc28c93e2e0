"""What `doctor` tries: a real box, and which layer keeps which limit."""
