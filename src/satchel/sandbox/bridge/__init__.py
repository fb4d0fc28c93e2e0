"""The one door of a box: frames, requests, and the same door for scripts outside."""
