"""An independent, simple reader of TiCDC's storage layout, CSV or canal-json, for tests and the demo."""

from tailrace.testing.reader.folder import Contents, Fallback, read, read_local
from tailrace.testing.reader.form import FolderForm, TableHint

__all__ = ["Contents", "Fallback", "FolderForm", "TableHint", "read", "read_local"]
