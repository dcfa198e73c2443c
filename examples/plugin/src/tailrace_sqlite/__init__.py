"""A sink of Tailrace into a table of an SQLite file."""
