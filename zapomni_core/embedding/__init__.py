"""Turns texts into vectors. Importing this loads no numpy and no model: that happens when something is embedded."""

from zapomni_core.embedding.default import DefaultEmbedder
from zapomni_core.embedding.embedder import Embedder, OnBatch, Profile, in_batches
from zapomni_core.embedding.tokens import guess_tokens

__all__ = ["DefaultEmbedder", "Embedder", "OnBatch", "Profile", "guess_tokens", "in_batches"]
