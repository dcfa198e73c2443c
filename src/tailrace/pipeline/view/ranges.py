"""stub"""
from __future__ import annotations
from tailrace.pipeline.view.options import ViewOptions
class RangeOrigin:
    def __init__(self, options: ViewOptions) -> None: ...
