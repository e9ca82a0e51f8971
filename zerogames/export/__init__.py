"""Turning nets into files that other programs run."""

from zerogames.export.formats import ExportFormat, export_net, find_format, format_names
from zerogames.export.request import BatchSizes, ExportOptions, ExportReport, ExportRequest

__all__ = [
    "BatchSizes",
    "ExportFormat",
    "ExportOptions",
    "ExportReport",
    "ExportRequest",
    "export_net",
    "find_format",
    "format_names",
]
