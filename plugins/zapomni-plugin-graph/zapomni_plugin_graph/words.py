"""How entities, relations and jobs are told to people."""

from collections.abc import Sequence
from datetime import UTC, datetime

from zapomni_core.plugin import Entity, Evidence, Job, Relation

LONGEST_QUOTE = 160


def counted(count: int, one: str, many: str) -> str:
    """So many of something."""
    return f"{count:,} {one if count == 1 else many}"


def memories(count: int) -> str:
    """So many memories."""
    return counted(count, "memory", "memories")


def graph_words(entities: int, relations: int) -> str:
    """How much graph there is."""
    return f"The graph has {counted(entities, 'entity', 'entities')} and {counted(relations, 'relation', 'relations')}"


def unread_words(unread: int) -> str:
    """What to do about memories that are not read."""
    return f"Not in the graph yet: {memories(unread)}; call build_graph."


def entity_words(entity: Entity) -> str:
    """An entity in a few words."""
    return f"{entity.name} ({entity.type}, {memories(entity.memories)})"


def step_words(relation: Relation, basis: str) -> str:
    """A step on one line, with the newest memory that says it."""
    subject, target = relation.subject.name, relation.object.name
    if basis == "mention":
        known = f"{subject} and {target} are mentioned together"
    else:
        known = f"{subject} —{relation.type}→ {target}"
    return f"- {known}{_when(relation)}{_evidence(relation.evidence)}"


def job_words(job: Job) -> str:
    """How far a job is."""
    parts = [f"Job {job.id} is {job.state}"]
    if job.state == "running" and job.progress is not None:
        parts.append(f"{job.progress:.0%} done")
    if job.state == "running" and job.message:
        parts.append(job.message)
    if job.error and job.state != "running":
        parts.append(error_words(job))
    return "; ".join(parts) + "."


def error_words(job: Job) -> str:
    """Why a job waits or failed. What a postponed one waits for was worded by us; else the kind of error must do."""
    if job.postponed_since:
        return job.error.rstrip(".")
    again = "is tried again after" if job.state == "queued" else "last error:"
    return f"{again} {kind_of_error(job)}; get_job tells more"


def kind_of_error(job: Job) -> str:
    """What a failed job's error is called; the rest of it may name places on this machine."""
    return job.error.partition(":")[0]


def short(text: str, most: int) -> str:
    """A text on one line, cut."""
    if (
        len(text) <= most and text.isprintable() and "  " not in text
    ):  # most often; of white space, only a space is printable
        return text.strip()
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _when(relation: Relation) -> str:
    if relation.valid_from is relation.valid_until is None:
        return ""
    now = datetime.now(UTC)
    since, until = _date(relation.valid_from), _date(relation.valid_until)
    if since and until:
        times = f"{since} to {until}"
    elif since:
        times = f"from {since} on" if relation.valid_from and relation.valid_from > now else f"since {since}"
    else:
        times = f"until {until}"
    is_over = relation.valid_until is not None and relation.valid_until <= now
    over = (", superseded" if relation.superseded_by else ", over") if is_over else ""
    return f" ({times}{over})"


def _date(moment: datetime | None) -> str:
    """A year where only that was said: the first moment of it."""
    if moment is None:
        return ""
    if (moment.month, moment.day, moment.hour, moment.minute, moment.second) == (1, 1, 0, 0, 0):
        return f"{moment.year}"
    return moment.date().isoformat()


def _evidence(evidence: Sequence[Evidence]) -> str:
    """The first quote, and how many memories more say it."""
    if not evidence:
        return ""
    said = f' [{evidence[0].memory_id}: "{short(evidence[0].quote, LONGEST_QUOTE)}"]'
    others = len({one.memory_id for one in evidence}) - 1 if len(evidence) > 1 else 0
    return f"{said} and {others} more" if others else said
