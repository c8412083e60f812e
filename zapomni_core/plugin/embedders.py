"""What an embedder needs: the protocol, what it says of itself, and what embedders share."""

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
