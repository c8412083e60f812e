"""Reads what a text speaks of: entities, and how they are related. Importing this compiles no patterns and calls nobody."""

from zapomni_core.extraction.extractor import Extractor

__all__ = ["Extractor"]
