"""What the loop costs: the tasks of bench/context, done by an agent of Satchel's own over a model."""
