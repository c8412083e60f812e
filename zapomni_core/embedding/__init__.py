"""Turns texts into vectors. Importing this loads neither numpy nor a model; embedding does."""

from zapomni_core.embedding.default import DefaultEmbedder
from zapomni_core.embedding.embedder import (
    Embedder,
    OnBatch,
    Profile,
    guess_tokens,
    in_batches,
    know_dimension,
    log_failure,
)

__all__ = [
    "DefaultEmbedder",
    "Embedder",
    "OnBatch",
    "Profile",
    "guess_tokens",
    "in_batches",
    "know_dimension",
    "log_failure",
]
