"""A plugin with an embedder that takes no time to load, for servers whose tests are not about meaning."""

from zapomni_core.plugin import Provider, hookimpl
from zapomni_core.testing.embedder import HashingEmbedder


@hookimpl
def zapomni_providers():
    return [Provider(kind="embedder", name="hashing", factory=lambda _context: HashingEmbedder())]
