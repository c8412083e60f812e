"""Names for embedders: the protocol, the identity and the profile."""

from zapomni_core.embedding import Embedder, OnBatch, Profile
from zapomni_db.records import EmbedderIdentity

__all__ = [
    "Embedder",
    "EmbedderIdentity",
    "OnBatch",
    "Profile",
]
