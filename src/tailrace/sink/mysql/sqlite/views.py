"""Views in SQLite: MySQL's query in SQLite's language, with the names that tables have in the target."""

from __future__ import annotations

from tailrace.errors import NotInstalled, SinkRefused
from tailrace.sink.mysql.sqlite.definitions import table_name


def view_query(text: str, schema: str) -> str:
    """Raises SinkRefused for what cannot be said in SQLite."""
    try:
        import sqlglot
        from sqlglot import exp
        from sqlglot.errors import SqlglotError
    except ModuleNotFoundError as missing:
        raise NotInstalled("a view in SQLite needs sqlglot: run pip install 'tailrace[sql]'") from missing
    try:
        query = sqlglot.parse_one(text, read="mysql")
        for table in list(query.find_all(exp.Table)):
            if table.name:
                plain = exp.to_identifier(table_name(table.db or schema, table.name), quoted=True)
                alias = table.alias or table.name
                table.replace(exp.alias_(exp.Table(this=plain), alias, table=True, quoted=True))
        return query.sql(dialect="sqlite")
    except SqlglotError as error:
        raise SinkRefused(f"a view that cannot be said in SQLite ({error}): {text}") from error
