"""Privacy tokens in the database: their table, how it is read and cleared, and an async interface."""
