"""The shape of a view: which columns it has, and whether a version of the table fits them.

Without `mergeSchema` a view has the columns of one version of the table, and a version fits when it has each of them
with the same type and, unless columns were chosen, no others. With it, a view has the columns of all versions, each
wide enough for all; a version that lacks one has NULL there. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.types import StructField, StructType

from tailrace.change.schema import TableSchema
from tailrace.errors import ConfigError, SchemaChanged
from tailrace.pipeline.view.mapping import BEFORE, OWN, image_type, view_type, wider
from tailrace.pipeline.view.options import ViewOptions
from tailrace.pipeline.view.origin import Version


def image_of(table: TableSchema, options: ViewOptions) -> StructType:
    columns = [column for column in table.row_columns if not column.hidden]
    clash = sorted({column.name.lower() for column in columns} & set(OWN))
    if clash:
        raise ConfigError(
            f"the table has a column {clash[0]}, which a view calls one of its own", table=table.full_name
        )
    return image_type(columns, options.zero_dates)


def schema_of(versions: Sequence[Version], options: ViewOptions) -> StructType:
    """The columns of `load(...)`: of the version at `schemaAt`, else the last one up to `endTs`; or of all of them."""
    limit = options.schema_at or options.end_ts
    known = [version for version in versions if version.ts <= limit] or [versions[0]]
    image = _merged(known, options) if options.merge_schema else image_of(known[-1].table, options)
    return chosen(view_type(image), options)


def chosen(whole: StructType, options: ViewOptions) -> StructType:
    """The columns that `columns` names, in its order; all without it."""
    if not options.columns:
        return whole
    named = {field.name: field for field in whole}
    for name in options.columns:
        if name not in named:
            raise ConfigError(
                f"the option columns names {name}, which the table has not; it has {', '.join(named)}",
                table=options.full_name,
            )
    return StructType([named[name] for name in options.columns])


def check_asked(asked: StructType, versions: Sequence[Version], options: ViewOptions) -> None:
    """A schema given by `.schema(...)` may leave columns out, and change no type."""
    there: dict[str, list[StructField]] = {}
    for version in versions:
        for field in view_type(image_of(version.table, options)):
            there.setdefault(field.name, []).append(field)
    for field in asked:
        if field.name not in there:
            raise ConfigError(f"the schema asks for {field.name}, which the table never had", table=options.full_name)
        kinds = [known.dataType for known in there[field.name]]
        if field.name not in OWN and all(wider(kind, field.dataType) != field.dataType for kind in kinds):
            wanted = kinds[-1].simpleString()
            raise ConfigError(
                f"the schema asks for {field.name} as {field.dataType.simpleString()}; it is {wanted}",
                table=options.full_name,
            )


def check_fits(schema: StructType, table: TableSchema, options: ViewOptions, hint: str) -> None:
    """Raises SchemaChanged where rows of this version of the table cannot be rows of the view."""
    reason = misfit(schema, table, options)
    if reason:
        raise SchemaChanged(
            f"the table's version {table.version} {reason}; {hint}",
            table=table.full_name,
            position=f"version {table.version}",
        )


def misfit(schema: StructType, table: TableSchema, options: ViewOptions) -> str:
    """Why rows of this version cannot be rows of the view; empty where they can."""
    image = image_of(table, options)
    there = {field.name: field.dataType for field in image}
    for field in _own_columns(schema):
        kind = there.get(field.name)
        if kind is None and not options.merge_schema:
            return f"has no column {field.name}"
        if kind is None or kind == field.dataType:
            continue
        if not options.merge_schema or wider(kind, field.dataType) != field.dataType:
            return f"has {field.name} as {kind.simpleString()}, not {field.dataType.simpleString()}"
    if options.columns or _is_selection(schema):
        return ""
    more = there.keys() - {field.name for field in _own_columns(schema)}
    return f"has the column {min(more)}, which the view has not" if more else ""


def _own_columns(schema: StructType) -> list[StructField]:
    """The columns of the table that a view shows, those in `_before` among them."""
    images = [field.dataType for field in schema if field.name == BEFORE]
    inside = [field for image in images if isinstance(image, StructType) for field in image]
    return [*(field for field in schema if field.name not in OWN), *inside]


def _is_selection(schema: StructType) -> bool:
    """A schema that leaves out one of a view's own columns was chosen by the user."""
    return not set(OWN) <= set(schema.names)


def _merged(versions: Sequence[Version], options: ViewOptions) -> StructType:
    """The newest version's columns first, then those that only earlier ones have."""
    fields: dict[str, StructField] = {}
    for version in reversed(versions):
        for field in image_of(version.table, options):
            known = fields.setdefault(field.name, field)
            both = wider(known.dataType, field.dataType)
            if both is None:
                raise SchemaChanged(
                    f"the column {field.name} is {field.dataType.simpleString()} in version {version.ts} and "
                    f"{known.dataType.simpleString()} later; leave out the column, or bound the view by endTs",
                    table=options.full_name,
                    position=f"version {version.ts}",
                )
            fields[field.name] = StructField(field.name, both)
    return StructType(list(fields.values()))
