"""Row codec: TiDB's record keys and row values (row format v2) to columns and back."""

from tailrace.upstream.rowcodec.keys import decode_handles, encode_keys, table_range
from tailrace.upstream.rowcodec.rows import decode_rows, encode_rows

__all__ = ["decode_handles", "decode_rows", "encode_keys", "encode_rows", "table_range"]
