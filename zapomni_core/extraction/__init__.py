"""Extracts entities and relations from texts. Importing this compiles no patterns and connects to nothing."""

from zapomni_core.extraction.extractor import Extractor

__all__ = ["Extractor"]
