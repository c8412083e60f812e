"""`zapomni embedders`: what can be chosen as embedder, and how fast it is here."""

import asyncio
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from zapomni_core.errors import ConfigurationError, ProcessingError
from zapomni_mcp.cli.context import CommandContext, with_context
from zapomni_mcp.cli.options import shared_options

if TYPE_CHECKING:
    from zapomni_core.embedding import Embedder
    from zapomni_core.memory.engine import MemoryEngine
    from zapomni_db.records import EmbedderIdentity

LIMIT_SECONDS = 60.0
PASSAGES = 100
QUESTIONS = 5


@dataclass(frozen=True, slots=True)
class Examined:
    """An embedder that can be chosen. `state` is `answers`, or why it does not; `use` says where it is used."""

    name: str
    state: str
    model: str | None = None
    dimension: int | None = None
    query_ms: float | None = None
    passages_ms: float | None = None
    use: str = ""


@click.command()
@shared_options()
@with_context
def embedders(context: CommandContext) -> None:
    """List the embedders that can be chosen, and try each.

    Shows whether it answers now, its dimension, and how long one query and 100 passages take here. Nothing is downloaded,
    and none of your memories is sent anywhere: it is tried with texts of its own.
    """

    async def work(engine: "MemoryEngine") -> int:
        recorded = await engine.memories.embedder(engine.workspace)
        found = [await _examined(engine, name, recorded) for name in engine.providers.names("embedder")]
        if context.as_json:
            context.json({"embedders": [asdict(one) for one in found]})
        else:
            context.out.table(
                ("NAME", "MODEL", "DIMENSION", "QUERY MS", f"{PASSAGES} PASSAGES MS", "USED", "STATE"),
                [_row(one) for one in found],
                right=("DIMENSION", "QUERY MS", f"{PASSAGES} PASSAGES MS"),
                full=True,
            )
        return 0

    context.run(work)


async def _examined(engine: "MemoryEngine", name: str, recorded: "EmbedderIdentity | None") -> Examined:
    use = _use(engine, name, recorded)
    try:
        embedder = engine.providers.make(
            "embedder", name, engine.settings, recorded if recorded and recorded.name == name else None
        )
    except ConfigurationError as error:
        return Examined(name, str(error), use=use)
    try:
        return await _tried(name, embedder, use)
    finally:
        await embedder.close()


async def _tried(name: str, embedder: "Embedder", use: str) -> Examined:
    state, query, passages = "answers", None, None
    try:
        if download := await asyncio.to_thread(getattr(embedder, "needs_download", str)):
            state = f"not downloaded yet: {download}"
        else:
            async with asyncio.timeout(LIMIT_SECONDS):
                query, passages = await _timed(embedder)
    except TimeoutError:
        state = f"no answer in {LIMIT_SECONDS:g} seconds"
    except ProcessingError as error:
        state = str(error)
    except Exception as error:  # noqa: BLE001 (the embedder may be a plugin's)
        state = f"{type(error).__name__}: {error}"
    identity = embedder.identity
    return Examined(name, state, identity.model, identity.dimension or None, query, passages, use)


async def _timed(embedder: "Embedder") -> tuple[float, float]:
    """The milliseconds of one question and of a hundred passages, after loading."""
    texts = _texts()
    await embedder.embed([])
    await embedder.embed(texts[:1], query=True)
    started = time.perf_counter()
    for text in texts[:QUESTIONS]:
        await embedder.embed([text[:60]], query=True)
    between = time.perf_counter()
    await embedder.embed(texts)
    ended = time.perf_counter()
    return round((between - started) * 1000 / QUESTIONS, 1), round((ended - between) * 1000, 1)


def _texts() -> list[str]:
    from zapomni_core.embedding.weight import ENGLISH

    sentences = [sentence for item in ENGLISH for sentence in item]
    count = len(sentences)
    return [" ".join(sentences[(at + step) % count] for step in range(0, 16, 4)) for at in range(PASSAGES)]


def _use(engine: "MemoryEngine", name: str, recorded: "EmbedderIdentity | None") -> str:
    if recorded and recorded.name == name:
        return "by this workspace"
    new = engine.settings.embedder or "default"
    return "by new workspaces" if name == new else ""


def _row(one: Examined) -> tuple[str, ...]:
    values: tuple[Any, ...] = (one.name, one.model, one.dimension, one.query_ms, one.passages_ms, one.use, one.state)
    return tuple("" if value is None else str(value) for value in values)
