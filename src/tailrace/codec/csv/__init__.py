"""CSV: rows of cells, as TiCDC's storage sink writes them."""

from tailrace.codec.csv.decode import CsvDecoder
from tailrace.codec.csv.encode import CsvEncoder
from tailrace.codec.csv.options import CsvOptions

__all__ = ["CsvDecoder", "CsvEncoder", "CsvOptions"]
