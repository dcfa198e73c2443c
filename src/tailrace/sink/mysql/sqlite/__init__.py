"""SQLite as the target: the embedded default."""
