"""`zapomni jobs`: look at work that is queued, try it again, drop it."""

import json
from collections.abc import Iterable
from itertools import product
from typing import TYPE_CHECKING, Any, get_args

import click

from zapomni_db.records import JobState
from zapomni_mcp.cli.options import Options, refuse_for_another, shared_options
from zapomni_mcp.cli.output import Output, one_line
from zapomni_mcp.cli.refusal import Refusal
from zapomni_mcp.cli.session import Session, with_session

if TYPE_CHECKING:
    from zapomni_core.engine import MemoryEngine
    from zapomni_db.records import Job

MOST = 10_000
UNFINISHED: tuple[JobState, ...] = ("queued", "running", "failed")


@click.group(invoke_without_command=True)
@shared_options()
@click.option("--state", type=click.Choice(get_args(JobState)), help="Only jobs in this state.")
@click.option("--all", "everything", is_flag=True, help="Also jobs that are done.")
@click.option("--kind", metavar="KIND", help="Only jobs of this kind.")
@click.option(
    "--limit", type=click.IntRange(1, MOST), default=100, show_default=True, metavar="N", help="At most so many."
)
@click.option("--workspace", metavar="NAME", help="Work in this workspace instead of the one in the settings.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@click.pass_context
def jobs(ctx: click.Context, /, workspace: str | None, as_json: bool, **wanted: Any) -> None:
    """List the jobs that are queued, running or failed, the newest first.

    Those that are done are counted.
    """
    if ctx.invoked_subcommand is not None:
        refuse_for_another(ctx)
        return
    session = Session(Output(), ctx.ensure_object(Options), workspace, as_json)

    async def work(engine: "MemoryEngine") -> int:
        found, done = await _chosen(engine, **wanted)
        session.json({"jobs": found, "done_not_listed": done}) if session.as_json else _show(session.out, found, done)
        return 0

    session.run(work)


async def _chosen(
    engine: "MemoryEngine", *, state: JobState | None, everything: bool, kind: str | None, limit: int
) -> "tuple[list[Job], int]":
    """The jobs to list, and how many that are done are left out."""
    if state or everything:
        return await _listed(engine, (state,) if state else get_args(JobState), kind, limit), 0
    done = await _listed(engine, ("done",), kind, MOST)
    return await _listed(engine, UNFINISHED, kind, limit), len(done)


async def _listed(engine: "MemoryEngine", states: Iterable[JobState], kind: str | None, limit: int) -> "list[Job]":
    """The newest jobs; those of a kind that are for the extractor here are of that kind too."""
    kinds = [kind] if kind is None or ":" in kind else [kind, engine.reading_kind(kind)]
    found: dict[str, Job] = {}  # one that changes its state meanwhile is found twice
    for state, one in product(states, kinds):
        found |= {job.id: job for job in await engine.jobs.list(engine.workspace, state=state, kind=one, limit=limit)}
    return sorted(found.values(), key=lambda job: job.created_at, reverse=True)[:limit]


@jobs.command()
@shared_options()
@click.argument("job_id", metavar="ID")
@with_session
def show(session: Session, job_id: str) -> None:
    """Show all that is known of a job."""

    async def work(engine: "MemoryEngine") -> int:
        job = await engine.get_job(job_id)
        if session.as_json:
            session.json(job)
        else:
            session.out.text("\n".join(one_line(line) for line in _about(job)))
        return 0

    session.run(work)


@jobs.command()
@shared_options()
@click.argument("job_ids", nargs=-1, metavar="[ID...]")
@click.option("--all", "everything", is_flag=True, help="All jobs that have failed, or wait for later.")
@with_session
def retry(session: Session, job_ids: tuple[str, ...], everything: bool) -> None:
    """Queue failed jobs anew, and try now what waits for later.

    A server does them. Exits with 1 when one of those named has neither failed nor waits.
    """
    if bool(job_ids) == everything:
        raise Refusal("Name the jobs that are to be tried again, or say --all")

    async def work(engine: "MemoryEngine") -> int:
        wanted = None if everything else list(job_ids)
        queued = await engine.jobs.retry(engine.workspace, wanted)
        return _tell(
            session, "queued", queued, job_ids, "not there, neither failed nor waiting, or queued under the same key"
        )

    session.run(work)


@jobs.command()
@shared_options()
@click.argument("job_ids", nargs=-1, required=True, metavar="ID...")
@with_session
def drop(session: Session, job_ids: tuple[str, ...]) -> None:
    """Forget jobs that do not run: they will not be done.

    Exits with 1 when one is not there, or runs.
    """

    async def work(engine: "MemoryEngine") -> int:
        dropped = await engine.jobs.drop(engine.workspace, job_ids)
        return _tell(session, "dropped", dropped, job_ids, "not there, or running")

    session.run(work)


def _tell(session: Session, done: str, count: int, job_ids: tuple[str, ...], why_not: str) -> int:
    """Print how many jobs were changed, and tell of the others; the exit code."""
    if session.as_json:
        session.out.json({done: count})
    else:
        session.out.text(f"{done.capitalize()} {_jobs(count)}.")
    left = len(set(job_ids)) - count if job_ids else 0
    if left:
        click.echo(f"Error: {_jobs(left)} not {done}: {why_not}", err=True)
    return int(left > 0)


def _show(out: Output, found: "list[Job]", done: int) -> None:
    if found:
        rows = [(job.id, job.kind, job.state, f"{job.created_at:%m-%d %H:%M}", _told(job)) for job in found]
        out.table(("JOB", "KIND", "STATE", "QUEUED", "ABOUT"), rows, whole=True)
    if done:
        out.text(f"{_jobs(done)} done, which --all lists.")
    elif not found:
        out.text("No jobs.")


def _told(job: "Job") -> str:
    """What there is to say of a job in a few words."""
    if job.state == "running":
        return " ".join(part for part in ("" if job.progress is None else f"{job.progress:.0%}", job.message) if part)
    return job.error


def _about(job: "Job") -> list[str]:
    lines = [f"id: {job.id}", f"kind: {job.kind}", f"state: {job.state}", f"attempts: {job.attempts}"]
    lines.append(f"queued: {job.created_at:%Y-%m-%d %H:%M:%S} UTC")
    if job.state == "queued":
        lines.append(f"not before: {job.not_before:%Y-%m-%d %H:%M:%S} UTC")
    if job.postponed_since:
        lines.append(f"postponed since: {job.postponed_since:%Y-%m-%d %H:%M:%S} UTC")
    told = {"progress": job.progress and f"{job.progress:.0%}", "message": job.message, "last error": job.error}
    lines += [f"{key}: {value}" for key, value in told.items() if value]
    lines.append(f"payload: {json.dumps(dict(job.payload), ensure_ascii=False)}")
    if job.result is not None:
        lines.append(f"result: {json.dumps(dict(job.result), ensure_ascii=False)}")
    return lines


def _jobs(count: int) -> str:
    return f"{count:,} job{'' if count == 1 else 's'}"
