"""Views of folders and buckets in TiCDC's storage layout."""

from tailrace.pipeline.view.folder.origin import FolderOrigin

__all__ = ["FolderOrigin"]
