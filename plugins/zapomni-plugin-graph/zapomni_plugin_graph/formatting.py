"""Entities, facts and jobs as text."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from zapomni_core.plugin import counted
from zapomni_core.plugin.graph import MENTIONED_WITH, Entity, Evidence, GraphCounts, Relation
from zapomni_core.plugin.jobs import Job

LONGEST_QUOTE = 160
MOST_EVIDENCE = 10
"""A relation comes with at most so much evidence."""

UNKNOWN_TYPES = {"", "thing", "name"}


def memories(count: int) -> str:
    """A number of memories."""
    return counted(count, "memory", "memories")


def size_of(counts: GraphCounts) -> str:
    """The size of the graph."""
    ended = f" ({counts.ended:,} ended)" if counts.ended else ""
    parts = [
        counted(counts.entities, "entity", "entities"),
        counted(counts.facts, "current fact", "current facts") + ended,
        counted(counts.together, "co-mention", "co-mentions"),
    ]
    return f"The graph has {parts[0]}, {parts[1]} and {parts[2]}"


def not_extracted(count: int) -> str:
    """The next step for memories that were not extracted from."""
    return f"Not extracted yet: {memories(count)}; call build_graph."


def entity_text(entity: Entity) -> str:
    """An entity with its type and how many memories name it."""
    kind = "" if entity.type in UNKNOWN_TYPES else f"{entity.type}, "
    return f"{short(entity.name, LONGEST_QUOTE)} ({kind}{memories(entity.memories)})"


def fact_text(relation: Relation) -> str:
    """A fact without its evidence, with its dates in brackets."""
    subject, target = short(relation.subject.name, LONGEST_QUOTE), short(relation.object.name, LONGEST_QUOTE)
    if relation.type == MENTIONED_WITH:
        return f"{subject} and {target} are mentioned together"
    times = _times(relation)
    return f"{subject} {relation.type} {target}" + (f" ({times})" if times else "")


def fact_line(relation: Relation) -> str:
    """A fact on one line, with the newest evidence."""
    return f"- {fact_text(relation)}{_evidence(relation.evidence)}"


def mentioned_line(others: Iterable[tuple[str, int]]) -> str:
    """The entities that are mentioned together with one, each with the number of memories."""
    return "mentioned with: " + ", ".join(f"{short(name, 60)} ({at_least(count)})" for name, count in others)


def at_least(count: int) -> str:
    """A number of memories that were counted among a relation's evidence."""
    return f"{count}+" if count >= MOST_EVIDENCE else f"{count}"


def job_text(job: Job) -> str:
    """The progress of a job."""
    parts = [f"Job {job.id} is {job.state}"]
    if job.state == "running" and job.progress is not None:
        parts.append(f"{job.progress:.0%} done")
    if job.state == "running" and job.message:
        parts.append(job.message)
    if job.error and job.state != "running":
        parts.append(_error_text(job))
    return "; ".join(parts) + "."


def kind_of_error(job: Job) -> str:
    """The class of a failed job's error; the rest of it may name places on this machine."""
    return job.error.partition(":")[0]


def short(text: str, most: int) -> str:
    """A text on one line, cut."""
    if len(text) <= most and text.isprintable() and "  " not in text:
        return text.strip()
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _error_text(job: Job) -> str:
    """Why a job waits or failed. The error of a postponed job is a message of ours; of others only its class is shown."""
    if job.postponed_since:
        return job.error.rstrip(".")
    again = "is tried again after" if job.state == "queued" else "last error:"
    return f"{again} {kind_of_error(job)}; get_job tells more"


def _times(relation: Relation) -> str:
    now = datetime.now(UTC)
    since, until = _date(relation.valid_from), _date(relation.valid_until)
    is_over = relation.valid_until is not None and relation.valid_until <= now
    if since and until:
        times = f"{since} to {until}"
    elif until:
        times = f"until {until}"
    elif since:
        times = f"from {since} on" if relation.valid_from and relation.valid_from > now else f"since {since}"
    else:
        times = ""
    if is_over:
        return f"{times}, ended by {relation.ended_by}" if relation.ended_by else f"{times}, over"
    return times


def _date(moment: datetime | None) -> str:
    """The day, or the year alone for its first moment."""
    if moment is None:
        return ""
    if (moment.month, moment.day, moment.hour, moment.minute, moment.second) == (1, 1, 0, 0, 0):
        return f"{moment.year:04}"
    return moment.date().isoformat()


def _evidence(evidence: Sequence[Evidence]) -> str:
    """The first quote, and how many memories more say it."""
    if not evidence:
        return ""
    quote = f' [{evidence[0].memory_id}: "{short(evidence[0].quote, LONGEST_QUOTE)}"]'
    others = len({one.memory_id for one in evidence}) - 1
    return f"{quote} and {others} more" if others else quote
