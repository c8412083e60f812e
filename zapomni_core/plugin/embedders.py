"""Names for embedders: the protocol, the identity, the profile, and shared functions."""

from zapomni_core.embedding import Embedder, OnBatch, Profile, guess_tokens, in_batches
from zapomni_core.embedding.models import Prefixes, prefixes_of
from zapomni_db.records import EmbedderIdentity

__all__ = [
    "Embedder",
    "EmbedderIdentity",
    "OnBatch",
    "Prefixes",
    "Profile",
    "guess_tokens",
    "in_batches",
    "prefixes_of",
]
