"""A folder or bucket of TiCDC's layout as an upstream."""
