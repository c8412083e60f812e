"""Names what was embedded, so that the store can give its vector back instead of it being made again."""

from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zapomni_db.records import EmbedderIdentity


def digest(identity: "EmbedderIdentity", text: str) -> bytes:
    """16 bytes that name what an embedder embedded: equal if embedder and text are."""
    who = f"{identity.name}\0{identity.model}\0{identity.dimension}\0"
    return blake2b((who + text).encode("utf-8", "surrogatepass"), digest_size=16).digest()
