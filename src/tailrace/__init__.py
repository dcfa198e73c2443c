"""Tailrace: change data capture by key range, carried as columns by Spark, written in the formats of TiCDC."""

__version__ = "0.1.0"
