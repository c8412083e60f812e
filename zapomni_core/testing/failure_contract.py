"""A test class that calls tools while their store, embedder or language model fails, and checks their answers."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest

from zapomni_core.dispatch.arguments import check_arguments
from zapomni_core.dispatch.call import current_call_id
from zapomni_core.embedding import OnBatch
from zapomni_core.errors import LLMUnavailableError
from zapomni_core.extraction import Extractor
from zapomni_core.hookspecs import hookimpl
from zapomni_core.providers import Provider, ProviderContext, make_llm_extractor
from zapomni_core.testing.app import RunningApp, running, text_of
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_core.testing.llm_server import LLMServer, refuse, stall
from zapomni_db.arrays import Vector
from zapomni_db.errors import StoreUnavailableError
from zapomni_db.records import Extraction

PRIVATE = "/home/ada/secret-plans"
KEY = "sk-hunter2-of-ada"
PASSWORD = "sesame-of-ada"  # noqa: S105 (a sample)
SECRETS = (PRIVATE, KEY, PASSWORD)
"""Texts that no answer may contain."""
STORE_PARTS = ("jobs", "graph", "sessions", "vectors")
ERROR_KEY = "zapomni/error"
ANSWERS = {"success", "degraded", "queued"}
ASKED_FOR = {"validation", "not_found", "refused"}
"""Types of errors that may name a field, a name or an ID of the call."""
LONG_ENOUGH = 8
SAMPLES = ("Ada Lovelace works at Acme since 2019.", "Tea with Ada is at four in Berlin.")
LLM_FAULTS = [
    ("fail", "down"),
    ("fail", "refuses"),
    ("fail", "stalls"),
    ("store_raw", "refuses"),
    ("store_raw", "stalls"),
    ("queue_retry", "down"),
    ("queue_retry", "stalls"),
]
PATIENCE = 30


class FailureContract:
    """Tools must answer with a structured error when a part fails, claim no success, and reveal no secrets.

    ```python
    class TestFailures(FailureContract):
        plugin = zapomni_plugin_diary
        name = "diary"
        calls = {"write_diary": {"text": "Tea with Ada."}}
    ```

    `calls` has valid arguments for every tool. `independent` names the tools that need no store, `extracting` those that use
    the extractor, in the call or in a job. `fill` stores what they work on.
    """

    plugin: ClassVar[Any]
    name: ClassVar[str]
    calls: ClassVar[Mapping[str, Mapping[str, Any]]]
    independent: ClassVar[Collection[str]] = ()
    extracting: ClassVar[Collection[str]] = ()
    settings: ClassVar[Mapping[str, Any]] = {}

    async def test_there_is_a_call_for_every_tool(self) -> None:
        """Every tool is called."""
        async with self._running(store="away://") as (app, _):
            assert sorted(app.tools) == sorted(self.calls)

    async def test_the_store_is_away(self) -> None:
        """A tool returns a recoverable error, never an empty success."""
        async with self._running(store="away://") as (app, _):
            for tool, arguments in self.calls.items():
                record = _told(await app.call(tool, arguments), tool)
                if tool not in self.independent:
                    _is_error(record, "database", f"{tool}, while the store is away,")
                    assert record["recoverable"], tool

    async def test_the_store_never_answers(self) -> None:
        """A call ends at its time limit with a timeout error."""
        limits = {tool: {"timeout_seconds": 0.1} for tool in self.calls}
        async with self._running(store="silent://", tools=limits) as (app, _):
            for tool in self._dependent:
                record = _told(await app.call(tool, self.calls[tool]), tool)
                _is_error(record, "timeout", f"{tool}, while the store does not answer,")

    async def test_the_call_is_cancelled(self) -> None:
        """A cancelled call ends at once, and the next call is served."""
        async with self._running(store="silent://") as (app, faults):
            for tool in self._dependent:
                faults.reached.clear()
                call = asyncio.create_task(app.call(tool, self.calls[tool]))
                await asyncio.wait_for(faults.reached.wait(), PATIENCE)
                call.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await asyncio.wait_for(call, PATIENCE)
                _told(await app.call(tool, {"no such argument": None}), tool)

    async def test_the_embedder_is_broken(self, tmp_path: Path) -> None:
        """A call that needs vectors fails, or says what is missing."""
        async with self._running(store=f"sqlite://{tmp_path}/memory.db", embedder="faulty") as (app, faults):
            await self.fill(app)
            faults.embedder.broken = True
            for tool, arguments in self.calls.items():
                record, has_failed = await self._call(app, tool, arguments, faults.embedder.failed)
                _admitted(record, tool, "embedder", has_failed=has_failed)

    @pytest.mark.parametrize(("mode", "fault"), LLM_FAULTS)
    async def test_the_language_model_is_away(self, mode: str, fault: str, tmp_path: Path) -> None:
        """A call that needs the language model fails, or says that it is unavailable."""
        parts: dict[str, Any] = {"store": f"sqlite://{tmp_path}/memory.db", "embedder": "faulty"}
        async with self._running(**parts) as (app, _):
            await self.fill(app)
        with LLMServer(stall() if fault == "stalls" else refuse(401)) as server:
            parts |= {"extractor": "watched", "on_llm_unavailable": mode, "llm": _language_model(server)}
            if fault == "down":
                server.down()
            async with self._running(**parts) as (app, faults):
                for tool in app.tools:
                    record, has_failed = await self._call(app, tool, self.calls.get(tool, {}), faults.failed)
                    _admitted(record, tool, "language model", has_failed=has_failed)
                    assert tool not in self.extracting or record["status"] != "success", f"{tool} claims a success"

    async def fill(self, app: RunningApp) -> None:
        """Store what the tools work on, before anything fails; by default, some memories."""
        for text in SAMPLES:
            await app.app.engine.add_memory(text)

    async def _call(
        self, app: RunningApp, tool: str, arguments: Mapping[str, Any], failed: set[str | None]
    ) -> tuple[dict[str, Any], bool]:
        """The answer of a tool, and whether the failing part was used in the call."""
        before = len(failed - {None})
        record = _told(await app.call(tool, arguments), tool, arguments)
        return record, len(failed - {None}) > before

    async def test_the_arguments_are_wrong(self) -> None:
        """A wrong argument is a validation error that does not repeat its value."""
        async with self._running(store="away://") as (app, _):
            for tool, arguments in self.calls.items():
                for wrong in _wrong_calls(app, tool, arguments):
                    record = _told(await app.call(tool, wrong), tool)
                    _is_error(record, "validation", f"{tool}, called with {wrong},")

    @property
    def _dependent(self) -> list[str]:
        return [tool for tool in self.calls if tool not in self.independent]

    @asynccontextmanager
    async def _running(self, **settings: Any) -> AsyncIterator[tuple[RunningApp, "Faults"]]:
        faults = Faults()
        together = {**self.settings, **settings}
        async with running(self.plugin, faults, name=self.name, settings=together) as app:
            yield app, faults


def _told(result: Mapping[str, Any], tool: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The structured part of an answer, which must have a readable text and nothing private."""
    assert text_of(result).strip(), f"{tool} answered without a word"
    said = json.dumps(result)
    assert not any(secret in said for secret in SECRETS), f"{tool} revealed private data"
    record = result.get("structuredContent") or result.get("_meta", {}).get(ERROR_KEY)
    if result["isError"]:
        assert record is not None, f"{tool} failed without a record of it"
        assert record["status"] == "error", tool
        assert record["message"].strip(), tool
        assert record["error_code"], tool
        assert record["suggestion"], f"{tool} failed without a next step"
        if record["error_type"] not in ASKED_FOR:
            assert not any(text in said for text in _texts(arguments)), f"{tool} repeats in an error what it was given"
    elif record is not None:
        assert record.get("status", "success") in ANSWERS, tool
    return dict(record or {"status": "success"})


def _is_error(record: Mapping[str, Any], kind: str, who: str) -> None:
    assert record["status"] == "error", f"{who} answered with {record['status']}, not with an error"
    assert record["error_type"] == kind, f"{who} answered with an error of type {record['error_type']}, not {kind}"


def _texts(arguments: Mapping[str, Any] | None) -> list[str]:
    """The long texts among the arguments; short ones may be in an error by chance."""
    values = (arguments or {}).values()
    return [value for value in values if isinstance(value, str) and len(value) >= LONG_ENOUGH]


def _admitted(record: Mapping[str, Any], tool: str, what: str, *, has_failed: bool) -> None:
    """A call in which a part failed must not be a plain success."""
    assert not (has_failed and record["status"] == "success"), f"{tool} hides in a success that the {what} failed"


def _language_model(server: LLMServer) -> dict[str, Any]:
    """Settings with secrets and short time limits."""
    address = server.url.replace("://", f"://ada:{PASSWORD}@")
    patience = {"timeout_seconds": 0.3, "wait_seconds": 0.3}
    return {"provider": "ollama", "model": "any", "base_url": address, "api_key": KEY, **patience}


def _wrong_calls(app: RunningApp, tool: str, arguments: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    checked = app.app.registry.get(tool)
    yield {**arguments, "no such argument": PRIVATE}
    for name in checked.input_schema.get("required", ()):
        yield {key: value for key, value in arguments.items() if key != name}
    for name in checked.input_schema["properties"]:
        calls = ({**arguments, name: value} for value in ({"wrong": [PRIVATE]}, [[PRIVATE]], PRIVATE))
        yield from (call for call in calls if check_arguments(checked, call))


class FaultyStore:
    """A store whose methods all fail in the same way; only `close` works."""

    def __init__(self, fault: Callable[[], Awaitable[Any]]) -> None:
        self._fault = fault

    async def close(self) -> None:
        """There is nothing to close."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return FaultyStore(self._fault) if name in STORE_PARTS else self._fail

    async def _fail(self, *_arguments: Any, **_options: Any) -> Any:
        return await self._fault()


class FaultyEmbedder(HashingEmbedder):
    """An embedder that works until `broken` is set; its error then contains a private path.

    `failed` has the ids of the calls in which it failed.
    """

    def __init__(self) -> None:
        super().__init__(name="faulty")
        self.broken = False
        self.failed: set[str | None] = set()

    async def embed(self, texts: Sequence[str], *, query: bool = False, on_batch: OnBatch | None = None) -> Vector:
        if self.broken:
            self.failed.add(current_call_id())
            raise OSError(f"cannot read {PRIVATE}/weights.bin for {len(texts)} texts")
        return await super().embed(texts, query=query, on_batch=on_batch)


class WatchedExtractor:
    """The extractor that asks a language model; `failed` has the ids of the calls in which it failed."""

    name = "watched"

    def __init__(self, extractor: Extractor, failed: set[str | None]) -> None:
        self._extractor = extractor
        self._failed = failed

    async def extract(self, text: str, *, timestamp: datetime | None = None) -> Extraction:
        try:
            return replace(await self._extractor.extract(text, timestamp=timestamp), extractor=self.name)
        except LLMUnavailableError:
            self._failed.add(current_call_id())
            raise

    async def close(self) -> None:
        await self._extractor.close()


class Faults:
    """A plugin that offers the stores `away://` and `silent://`, the embedder `faulty` and the extractor `watched`.

    `reached` is set by the first call of the silent store, which never returns. `failed` has the ids of the calls in
    which the language model failed.
    """

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.embedder = FaultyEmbedder()
        self.failed: set[str | None] = set()

    @hookimpl
    def zapomni_providers(self) -> list[Provider]:
        return [
            Provider(kind="store", name="away", factory=lambda _: FaultyStore(_away)),
            Provider(kind="store", name="silent", factory=lambda _: FaultyStore(self._say_nothing)),
            Provider(kind="embedder", name="faulty", factory=lambda _: self.embedder),
            Provider(kind="extractor", name="watched", factory=self._watched),
        ]

    def _watched(self, context: ProviderContext) -> WatchedExtractor:
        return WatchedExtractor(make_llm_extractor(context), self.failed)

    async def _say_nothing(self) -> None:
        self.reached.set()
        await asyncio.get_running_loop().create_future()


async def _away() -> None:
    raise StoreUnavailableError(f"The store {PRIVATE}/memory.db cannot be reached: start its server.")
