"""What an embedder needs: the protocol, and what it says of itself."""

from zapomni_core.embedding import Embedder, OnBatch, Profile
from zapomni_db.records import EmbedderIdentity

__all__ = [
    "Embedder",
    "EmbedderIdentity",
    "OnBatch",
    "Profile",
]
