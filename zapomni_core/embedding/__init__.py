"""Turns texts into vectors. Importing this loads no numpy and no model: that happens when something is embedded."""

from zapomni_core.embedding.batches import in_batches
from zapomni_core.embedding.default import DefaultEmbedder
from zapomni_core.embedding.digests import digest
from zapomni_core.embedding.embedder import Embedder, OnBatch
from zapomni_core.embedding.profile import Profile
from zapomni_core.embedding.tokens import guess_tokens
from zapomni_core.embedding.worker import Worker

__all__ = [
    "DefaultEmbedder",
    "Embedder",
    "OnBatch",
    "Profile",
    "Worker",
    "digest",
    "guess_tokens",
    "in_batches",
]
