"""An independent, simple reader of TiCDC's storage layout, CSV or canal-json, for tests and the demo."""

from tailrace.testing.reader.folder import Contents, Fallback, FolderForm, TableHint, read, read_local

__all__ = ["Contents", "Fallback", "FolderForm", "TableHint", "read", "read_local"]
