"""The extractor that asks a language model. What the model cannot show in the text is not kept."""

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Protocol

from zapomni_core.dispatch.call import report_progress
from zapomni_core.errors import LLMUnavailableError
from zapomni_core.extraction.collecting import Collection
from zapomni_core.extraction.mention import Mention, name_key
from zapomni_core.extraction.parts import parts_of
from zapomni_core.extraction.prompt import SCHEMA, SYSTEM, prompt_for
from zapomni_core.extraction.quotes import LONGEST_NAME, find_inflected, find_name, find_quote
from zapomni_db.names import shown
from zapomni_db.records import Extraction

log = logging.getLogger("zapomni.extraction")

AT_ONCE = 2
"""Parts of a text that are with the model at one time."""
BEAT_SECONDS = 1.0
UNTOLD = "thing"
"""The type of what the model did not say the type of."""
_LONGEST_TYPE = 50
_MOST = 500
"""Entities and relations of one part."""


class Asked(Protocol):
    """Who is asked: `zapomni_core.llm.LLM`, or whoever answers like it."""

    @property
    def state(self) -> Mapping[str, Any]:
        """Who answers, and how that went of late."""
        ...

    async def ask(self, prompt: str, *, system: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        """One JSON object that satisfies the schema."""
        ...

    async def close(self) -> None: ...


class LLMExtractor:
    """Reads entities and relations with evidence by a language model, part by part. It closes the model it was given."""

    name = "llm"

    def __init__(self, llm: Asked) -> None:
        self._llm = llm

    async def extract(self, text: str, *, timestamp: datetime | None = None) -> Extraction:
        """What a text speaks of. LLMUnavailableError where the model gave no answer to any part: a part is never left out."""
        parts = await asyncio.to_thread(lambda: list(parts_of(text)))
        answers = await self._ask([text[start:end] for start, end in parts], timestamp)
        return await asyncio.to_thread(_checked, text, parts, answers)

    @property
    def state(self) -> Mapping[str, Any]:
        """Who is asked, and how that went of late."""
        return self._llm.state

    async def close(self) -> None:
        """Close the model's connections."""
        await self._llm.close()

    async def _ask(self, parts: Sequence[str], timestamp: datetime | None) -> list[dict[str, Any]]:
        """The answers for all parts, in order. The first goes alone: while nobody knows whether the model is back, one may ask."""
        progress = _Progress(len(parts))
        first = await self._ask_some(parts[:1], timestamp, progress)
        return first + await self._ask_some(parts[1:], timestamp, progress)

    async def _ask_some(
        self, parts: Sequence[str], timestamp: datetime | None, progress: "_Progress"
    ) -> list[dict[str, Any]]:
        slots = asyncio.Semaphore(AT_ONCE)

        async def ask(part: str) -> dict[str, Any]:
            async with slots:
                return await self._llm.ask(prompt_for(part, timestamp), system=SYSTEM, schema=SCHEMA)

        asked = [asyncio.create_task(ask(part)) for part in parts]
        try:
            await progress.attend(asked)
            return [task.result() for task in asked]
        finally:
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)


class _Progress:
    """How far the reading is: told when a part is read, and once a second while none is."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._beats = 0

    async def attend(self, tasks: Sequence["asyncio.Task[Any]"]) -> None:
        """Wait for all tasks; the first failure is raised at once."""
        waiting = set(tasks)
        while waiting:
            ended, waiting = await asyncio.wait(waiting, timeout=BEAT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            for task in sorted(ended, key=_is_refused):  # why it was refused comes first
                task.result()
            self._done, self._beats = self._done + len(ended), 0 if ended else self._beats + 1
            told = f"read {self._done} of {self._total} parts"
            await report_progress(self._done + self._beats / (self._beats + 10), self._total, told)


def _is_refused(task: "asyncio.Task[Any]") -> bool:
    """Whether no call was made, because of another that failed."""
    error = None if task.cancelled() else task.exception()
    return isinstance(error, LLMUnavailableError) and error.failure.code == "CIRCUIT_OPEN"


def _checked(text: str, parts: Sequence[tuple[int, int]], answers: Sequence[dict[str, Any]]) -> Extraction:
    collection = Collection(LLMExtractor.name)
    dropped = 0
    for (start, end), answer in zip(parts, answers, strict=True):
        dropped += _Reading(collection, text[start:end], start).keep(answer)
    if dropped:
        log.info("the language model named %d things that the text does not show; they were left out", dropped)
    return replace(collection.extraction(), left_out=dropped)


class _Reading:
    """What a model says of one part of a text, held against that part."""

    def __init__(self, collection: Collection, part: str, offset: int) -> None:
        self._collection = collection
        self._part = part
        self._offset = offset
        self._known: set[str] = set()

    def keep(self, answer: dict[str, Any]) -> int:
        """Keep what the part shows, up to a limit; how much was left out."""
        entities, relations = answer["entities"], answer["relations"]
        kept = [self._keep_entity(one) for one in entities[:_MOST]]
        kept += [self._keep_relation(one) for one in relations[:_MOST]]
        return kept.count(False) + len(entities[_MOST:]) + len(relations[_MOST:])

    def _keep_entity(self, entity: dict[str, Any]) -> bool:
        return self._add(entity["name"], snake_case(entity["type"]) or UNTOLD, entity["quote"])

    def _add(self, name: str, kind: str, quote: str) -> bool:
        """Keep an entity with all places of its name, or the one in the quote where it is inflected; False where it has none."""
        if len(name) > LONGEST_NAME:
            return False
        name = shown(name)
        places = find_name(self._part, name)
        if not places and (place := find_inflected(self._part, name, quote)):
            places = [place]
        is_name = name.isprintable() and any(map(str.isalnum, name))
        for start, end in places if is_name else ():
            self._collection.add(Mention(start, end, name, kind), self._offset)
            self._known.add(name_key(name))
        return name_key(name) in self._known

    def _keep_relation(self, relation: dict[str, Any]) -> bool:
        """Keep a relation whose quote and names the part has; a name that the model forgot among its entities is one."""
        if max(len(relation["subject"]), len(relation["object"])) > LONGEST_NAME:
            return False
        quote = find_quote(self._part, relation["quote"])
        kind = snake_case(relation["type"])
        subject, thing = name_key(relation["subject"]), name_key(relation["object"])
        if quote is None or not kind or subject == thing:
            return False
        for key, field in ((subject, "subject"), (thing, "object")):
            if key not in self._known and not self._add(relation[field], UNTOLD, relation["quote"]):
                return False
        since, until = _date(relation["valid_from"]), _date(relation["valid_until"])
        self._collection.relate(
            subject,
            kind,
            thing,
            (quote[0] + self._offset, quote[1] + self._offset),
            basis="stated",
            exclusive=relation["exclusive"],
            valid_from=since,
            valid_until=until if until and (since is None or since <= until) else None,  # nothing ends before it begins
        )
        return True


def snake_case(words: str) -> str:
    """A type as it is kept: `Works at` and `worksAt` are `works_at`; at most fifty characters."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", words)
    return re.sub(r"[\W_]+", "_", words).strip("_").lower()[:_LONGEST_TYPE].strip("_")


def _date(value: str | None) -> datetime | None:
    """A date as the model wrote it, a year or a month too; None where it is none."""
    if value is None:
        return None
    value = value.strip()
    padded = {4: f"{value}-01-01", 7: f"{value}-01"}.get(len(value), value)
    try:
        moment = datetime.fromisoformat(padded)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
