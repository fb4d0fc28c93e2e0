"""The trials of `doctor`: a real box, and the layer that keeps each limit."""
