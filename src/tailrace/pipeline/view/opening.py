"""Opening of origins: a folder or bucket by any of its URIs, a running upstream by its scheme."""

from __future__ import annotations

from tailrace import plugins
from tailrace.config.storage import SCHEMES
from tailrace.pipeline.view.folder import FolderOrigin
from tailrace.pipeline.view.options import ViewOptions
from tailrace.pipeline.view.origin import Origin
from tailrace.pipeline.view.ranges import RangeOrigin


def open_origin(options: ViewOptions) -> Origin:
    """Nothing is asked of it yet; raises ConfigError for a URI that nothing can be read from."""
    scheme = plugins.scheme_of(options.uri)
    return FolderOrigin(options) if not scheme or scheme in SCHEMES else RangeOrigin(options)
