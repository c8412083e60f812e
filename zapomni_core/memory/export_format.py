"""The lines of an export: JSON objects that say by `type` what they are.

The first one is a header, the last one says that the file is whole; sessions and memories are between them.
"""

from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from zapomni_core.memory.content import LONGEST_TEXT, clean_metadata
from zapomni_core.sessions.models import LONGEST_USER_ID, Role
from zapomni_core.text.terms import VERSION as ANALYSER
from zapomni_db.errors import InvalidInputError
from zapomni_db.records import Event, Extraction, Memory, Origin, SessionRecord, What

if TYPE_CHECKING:
    from zapomni_db.arrays import Vector
    from zapomni_db.records import EmbedderIdentity

FORMAT: Literal["zapomni-export"] = "zapomni-export"
VERSION = 1
"""Of the format. A file of a newer version is refused."""


def _uuid(text: str) -> str:
    try:
        is_canonical = str(UUID(text)) == text
    except ValueError:
        is_canonical = False
    if not is_canonical:
        raise ValueError("must be a UUID in small letters")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


Id = Annotated[str, Field(max_length=100), AfterValidator(_not_blank)]
SessionId = Annotated[str, AfterValidator(_uuid)]
Metadata = Annotated[dict[str, Any], AfterValidator(clean_metadata)]


class _Line(BaseModel):
    # What users keep does not belong in messages.
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", hide_input_in_errors=True)

    def encoded(self) -> bytes:
        """The line as it stands in the file."""
        return self.model_dump_json(exclude_defaults=True).encode() + b"\n"


class EmbedderLine(_Line):
    """The embedder of the workspace that was exported."""

    name: str
    model: str
    dimension: int


class Counts(_Line):
    """The counts when the export began. Waiting jobs are not in the file."""

    memories: int
    deleted: int
    replaced: int
    waiting_jobs: int

    @property
    def all_memories(self) -> int:
        """The number of memories in the file, if none was added or purged meanwhile."""
        return self.memories + self.deleted + self.replaced


class Header(_Line):
    """The first line: what the file is, and where it comes from."""

    type: Literal["zapomni-export"]
    version: int
    zapomni: str
    created_at: AwareDatetime
    workspace: str
    embedder: EmbedderLine | None
    analyser: int
    counts: Counts


class SessionLine(_Line):
    """A session."""

    type: Literal["session"]
    id: SessionId
    user_id: Annotated[str, Field(max_length=LONGEST_USER_ID)] = ""
    metadata: Metadata = {}
    created_at: AwareDatetime
    updated_at: AwareDatetime

    def record(self) -> SessionRecord:
        """The session as a store takes it."""
        return SessionRecord(**self.model_dump(exclude={"type"}))


class EventLine(_Line):
    """Something that happened to a memory."""

    at: AwareDatetime
    what: What
    by: str = ""


class MemoryLine(_Line):
    """A memory, a message or a document, deleted and replaced ones too, with all that belongs to it."""

    type: Literal["memory"]
    id: Id
    kind: Annotated[str, Field(max_length=64), AfterValidator(_not_blank)] = "memory"
    text: Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(_not_blank)]
    metadata: Metadata = {}
    key: Annotated[str, Field(max_length=200)] = ""
    created_at: AwareDatetime
    deleted_at: AwareDatetime | None = None
    replaced_by: Id | None = None
    session: SessionId | None = None
    role: Role | None = None
    vector: tuple[FiniteFloat, ...] = ()
    history: tuple[EventLine, ...] = ()
    extractions: tuple[Extraction, ...] = ()

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if len({self.kind == "message", self.session is not None, self.role is not None}) > 1:
            raise ValueError("a message, and nothing else, must have a session and a role")
        if self.vector and self.kind != "document":
            raise ValueError("only a document has a vector of its own")
        if self.kind in {"message", "document"}:
            _uuid(self.id)
        return self

    def origin(self, replaced_by: str | None) -> Origin:
        """The origin of the memory; its replacement may have another id in the target."""
        events = tuple(Event(one.at, one.what, one.by) for one in self.history)
        return Origin(
            id=self.id,
            created_at=self.created_at,
            deleted_at=self.deleted_at,
            replaced_by=replaced_by,
            role=self.role or "",
            vector=_vector_of(self.vector) if self.vector else None,
            extractions=self.extractions,
            events=events or (Event(self.created_at, "added", ""),),
        )


class EndLine(_Line):
    """The last line: the file was not cut off."""

    type: Literal["end"]


Line = SessionLine | MemoryLine | EndLine
_LINE: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="type")])


# Lines of what a store has.


def header_of(workspace: str, embedder: "EmbedderIdentity | None", counts: Counts) -> Header:
    """The header of an export that begins now."""
    return Header(
        type=FORMAT,
        version=VERSION,
        zapomni=metadata.version("zapomni"),
        created_at=datetime.now(UTC),
        workspace=workspace,
        embedder=EmbedderLine(**asdict(embedder)) if embedder else None,
        analyser=ANALYSER,
        counts=counts,
    )


def session_line(session: SessionRecord) -> SessionLine:
    """The line of a session. What a store has needs no check."""
    return SessionLine.model_construct(type="session", **asdict(session))


def memory_line(memory: Memory, origin: Origin) -> MemoryLine:
    """The line of a memory."""
    return MemoryLine.model_construct(
        type="memory",
        id=memory.id,
        kind=memory.kind,
        text=memory.text,
        metadata=dict(memory.metadata),
        key=memory.key,
        created_at=origin.created_at,
        deleted_at=origin.deleted_at,
        replaced_by=origin.replaced_by,
        session=memory.conversation if origin.role else None,
        role=origin.role or None,  # type: ignore[arg-type]  # not checked: it may be any text that the store has
        vector=() if origin.vector is None else _numbers(origin.vector),
        history=tuple(EventLine.model_construct(**event._asdict()) for event in origin.events),
        extractions=origin.extractions,
    )


def _numbers(vector: "Vector") -> tuple[float, ...]:
    """The shortest numbers that give the same vector in single precision."""
    return tuple(float(str(number)) for number in vector)


def _vector_of(numbers: tuple[float, ...]) -> "Vector":
    import numpy as np

    with np.errstate(over="ignore"):  # the store refuses what is too large
        return np.asarray(numbers, np.float32)


# Lines of a file.


def parse_header(line: bytes) -> Header:
    """The first line of a file; InvalidInputError where it is no export, or one that only another Zapomni reads."""
    try:
        version = _Version.model_validate_json(line).version
        if version == VERSION:
            return Header.model_validate_json(line)
    except ValidationError:
        raise InvalidInputError("the file is not an export of Zapomni: its first line is not a header") from None
    newer = "was exported by a newer Zapomni: update Zapomni" if version > VERSION else "cannot be read"
    raise InvalidInputError(f"the file has version {version} of the format, this Zapomni reads {VERSION}; it {newer}")


def parse_line(line: bytes) -> Line:
    """One of the other lines; InvalidInputError names the field and the rule, and never quotes the line."""
    try:
        return _LINE.validate_json(line)
    except ValidationError as error:
        raise InvalidInputError(_problem(error.errors(include_url=False, include_input=False)[0])) from None


class _Version(BaseModel):
    """As much of a header as says whether the rest can be read."""

    type: Literal["zapomni-export"]
    version: int


def _problem(error: ErrorDetails) -> str:
    kind, message = error["type"], error["msg"].removeprefix("Value error, ")
    if kind == "json_invalid":
        return "this is not valid JSON in UTF-8"
    if kind.startswith("union_tag") or (not error["loc"] and kind != "value_error"):
        return "this must be an object whose type is session, memory or end"
    field = ".".join(map(str, error["loc"][1:]))
    return f"{field}: {message}" if field else message
