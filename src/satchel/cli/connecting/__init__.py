"""connect and what goes with it: which clients have Satchel, and which servers go from one to the other."""
