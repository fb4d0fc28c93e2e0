"""Personal data: what a text would look like to a model."""
