"""plugins and plugins marketplace."""
