"""Names for extractors: the protocol, its results, and the error when a language model is unavailable."""

from zapomni_core.errors import LLMUnavailableError
from zapomni_core.extraction import Extractor
from zapomni_core.http import ProviderFailure
from zapomni_db.records import Extraction, NewEntity, NewRelation

__all__ = [
    "Extraction",
    "Extractor",
    "LLMUnavailableError",
    "NewEntity",
    "NewRelation",
    "ProviderFailure",
]
