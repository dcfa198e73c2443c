"""Validators: what a reader may never see, as objects that are fed with what he sees."""

from tailrace.testing.validators.base import Finding, Stream, Validator, Validators
from tailrace.testing.validators.files import FilesHold
from tailrace.testing.validators.folder import FolderWatch
from tailrace.testing.validators.images import ImagesMatch
from tailrace.testing.validators.order import NoRowBack, OrderPerKey, ResolvedHolds
from tailrace.testing.validators.prints import Fingerprint, row_prints

__all__ = [
    "FilesHold",
    "Finding",
    "Fingerprint",
    "FolderWatch",
    "ImagesMatch",
    "NoRowBack",
    "OrderPerKey",
    "ResolvedHolds",
    "Stream",
    "Validator",
    "Validators",
    "row_prints",
]
