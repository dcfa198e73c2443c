"""Databases as a sink: SQLite now; MySQL, MariaDB and TiDB are further targets of the same room."""
