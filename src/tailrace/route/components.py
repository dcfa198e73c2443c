"""Components: the routes of a table with more than one unique key, from all of its changes in a cut.

Two changes are linked when they touch one value of one unique key, before or after; what is linked, over any number of
steps, is a component and stays on one route. Guarantees: the same set of changes gives each of them the same route, in
whatever order they come, on whatever machine. Hashes stand for values: two values that share one are linked for
nothing, and nothing that should be linked is not. Linking goes over columns, in as many steps as the logarithm of the
longest chain.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import TableSchema
from tailrace.route.conflict import Hashes, column_hashes, comparable, mixed, unique_keys

Labels = NDArray[np.int64]


def linkable(table: TableSchema) -> bool:
    """Whether equal values of every unique key are equal bytes here, so that links can be found."""
    return bool(unique_keys(table)) and all(comparable(table, key) for key in unique_keys(table))


def component_routes(batch: ChangeBatch, routes: int) -> Labels:
    """The route of each row; the batch holds all changes of the table in its cut."""
    rows, values = _links(batch)
    names, nodes = np.unique(values, return_inverse=True)
    label = _labels(rows, nodes.astype(np.int64), batch.num_rows, len(names))
    # A component is known by the smallest of its values, which no order of rows changes.
    smallest = np.full(batch.num_rows, np.iinfo(np.uint64).max, np.uint64)
    np.minimum.at(smallest, label[rows], values)
    return (mixed(smallest[label]) % np.uint64(routes)).astype(np.int64)


def _links(batch: ChangeBatch) -> tuple[Labels, Hashes]:
    """Pairs of a row and a value that it touches. A NULL is equal to nothing, so it links nothing."""
    rows: list[Labels] = []
    values: list[Hashes] = []
    for number, key in enumerate(unique_keys(batch.table)):
        for touched, hashes in _touched(batch, key):
            rows.append(np.flatnonzero(touched))
            values.append(mixed(hashes[touched] ^ np.uint64(number)))
    return np.concatenate(rows), np.concatenate(values)


def _touched(batch: ChangeBatch, key: tuple[str, ...]) -> Iterator[tuple[NDArray[np.bool_], Hashes]]:
    for image in (batch.after, batch.before):
        hashes = np.zeros(batch.num_rows, np.uint64)
        there = image.is_valid()
        for name in key:
            column = pc.struct_field(image, name)
            there = pc.and_(there, column.is_valid())
            hashes = mixed(hashes ^ column_hashes(column))
        yield there.to_numpy(zero_copy_only=False), hashes


def _labels(rows: Labels, nodes: Labels, row_count: int, node_count: int) -> Labels:
    """For each row the smallest row of its component."""
    label = np.arange(row_count, dtype=np.int64)
    while True:
        of_node = np.full(node_count, row_count, np.int64)
        np.minimum.at(of_node, nodes, label[rows])
        linked = label.copy()
        # Not only the row: whoever it stands for has to hear of the smaller one as well.
        np.minimum.at(linked, label[rows], of_node[nodes])
        np.minimum.at(linked, rows, of_node[nodes])
        while True:
            further = linked[linked]
            if np.array_equal(further, linked):
                break
            linked = further
        if np.array_equal(linked, label):
            return label
        label = linked
