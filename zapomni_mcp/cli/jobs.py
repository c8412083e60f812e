"""`zapomni jobs`: list, show, retry and drop queued work."""

import json
from collections.abc import Iterable
from itertools import product
from typing import TYPE_CHECKING, Any, get_args

import click

from zapomni_db.records import JobState
from zapomni_mcp.cli.context import CommandContext, with_context
from zapomni_mcp.cli.errors import InvalidRequest
from zapomni_mcp.cli.options import Options, reject_before_subcommand, shared_options
from zapomni_mcp.cli.output import Output, one_line

if TYPE_CHECKING:
    from zapomni_core.memory.engine import MemoryEngine
    from zapomni_db.records import Job

MAX_LISTED = 10_000
UNFINISHED: tuple[JobState, ...] = ("queued", "running", "failed")


@click.group(invoke_without_command=True)
@shared_options()
@click.option("--state", type=click.Choice(get_args(JobState)), help="Only jobs in this state.")
@click.option("--all", "everything", is_flag=True, help="Include jobs that are done.")
@click.option("--kind", metavar="KIND", help="Only jobs of this kind.")
@click.option(
    "--limit",
    type=click.IntRange(1, MAX_LISTED),
    default=100,
    show_default=True,
    metavar="N",
    help="Most jobs to list.",
)
@click.option("--workspace", metavar="NAME", help="Use this workspace instead of the one in the settings.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@click.pass_context
def jobs(ctx: click.Context, /, workspace: str | None, as_json: bool, **wanted: Any) -> None:
    """List queued, running and failed jobs, newest first.

    Jobs that are done are only counted.
    """
    if ctx.invoked_subcommand is not None:
        reject_before_subcommand(ctx)
        return
    context = CommandContext(Output(), ctx.ensure_object(Options), workspace, as_json)

    async def work(engine: "MemoryEngine") -> int:
        found, done = await _select(engine, **wanted)
        context.json({"jobs": found, "done_not_listed": done}) if context.as_json else _show(context.out, found, done)
        return 0

    context.run(work)


async def _select(
    engine: "MemoryEngine", *, state: JobState | None, everything: bool, kind: str | None, limit: int
) -> "tuple[list[Job], int]":
    """The jobs to list, and the number of finished jobs that are not listed."""
    if state or everything:
        return await _list(engine, (state,) if state else get_args(JobState), kind, limit), 0
    done = await _list(engine, ("done",), kind, MAX_LISTED)
    return await _list(engine, UNFINISHED, kind, limit), len(done)


async def _list(engine: "MemoryEngine", states: Iterable[JobState], kind: str | None, limit: int) -> "list[Job]":
    """The newest jobs. A kind includes the jobs of that kind for this extractor."""
    kinds = [kind] if kind is None or ":" in kind else [kind, engine.extractor_kind(kind)]
    found: dict[str, Job] = {}  # a job that changes its state meanwhile is found twice
    for state, one in product(states, kinds):
        found |= {job.id: job for job in await engine.jobs.list(engine.workspace, state=state, kind=one, limit=limit)}
    return sorted(found.values(), key=lambda job: job.created_at, reverse=True)[:limit]


@jobs.command()
@shared_options()
@click.argument("job_id", metavar="ID")
@with_context
def show(context: CommandContext, job_id: str) -> None:
    """Show the details of a job."""

    async def work(engine: "MemoryEngine") -> int:
        job = await engine.get_job(job_id)
        if context.as_json:
            context.json(job)
        else:
            context.out.text("\n".join(one_line(line) for line in _about(job)))
        return 0

    context.run(work)


@jobs.command()
@shared_options()
@click.argument("job_ids", nargs=-1, metavar="[ID...]")
@click.option("--all", "everything", is_flag=True, help="All jobs that have failed or are postponed.")
@with_context
def retry(context: CommandContext, job_ids: tuple[str, ...], everything: bool) -> None:
    """Queue failed jobs again, and postponed jobs for now.

    A server runs them. Exits with 1 if a named job has neither failed nor is postponed.
    """
    if bool(job_ids) == everything:
        raise InvalidRequest("Give the IDs of the jobs to retry, or --all")

    async def work(engine: "MemoryEngine") -> int:
        wanted = None if everything else list(job_ids)
        queued = await engine.jobs.retry(engine.workspace, wanted)
        return _report(
            context, "queued", queued, job_ids, "missing, neither failed nor waiting, or queued under the same key"
        )

    context.run(work)


@jobs.command()
@shared_options()
@click.argument("job_ids", nargs=-1, required=True, metavar="ID...")
@with_context
def drop(context: CommandContext, job_ids: tuple[str, ...]) -> None:
    """Remove jobs that are not running.

    Exits with 1 if one does not exist or is running.
    """

    async def work(engine: "MemoryEngine") -> int:
        dropped = await engine.jobs.drop(engine.workspace, job_ids)
        return _report(context, "dropped", dropped, job_ids, "missing or running")

    context.run(work)


def _report(context: CommandContext, done: str, count: int, job_ids: tuple[str, ...], why_not: str) -> int:
    """Print how many jobs were changed and how many were not; return the exit code."""
    if context.as_json:
        context.out.json({done: count})
    else:
        context.out.text(f"{done.capitalize()} {_jobs(count)}.")
    left = len(set(job_ids)) - count if job_ids else 0
    if left:
        click.echo(f"Error: {_jobs(left)} not {done}: {why_not}", err=True)
    return int(left > 0)


def _show(out: Output, found: "list[Job]", done: int) -> None:
    if found:
        rows = [(job.id, job.kind, job.state, f"{job.created_at:%m-%d %H:%M}", _status(job)) for job in found]
        out.table(("JOB", "KIND", "STATE", "QUEUED", "ABOUT"), rows, full=True)
    if done:
        out.text(f"{_jobs(done)} done; --all lists them.")
    elif not found:
        out.text("No jobs.")


def _status(job: "Job") -> str:
    """The progress of a running job, the error of any other."""
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
    optional = {"progress": job.progress and f"{job.progress:.0%}", "message": job.message, "last error": job.error}
    lines += [f"{key}: {value}" for key, value in optional.items() if value]
    lines.append(f"payload: {json.dumps(dict(job.payload), ensure_ascii=False)}")
    if job.result is not None:
        lines.append(f"result: {json.dumps(dict(job.result), ensure_ascii=False)}")
    return lines


def _jobs(count: int) -> str:
    return f"{count:,} job{'' if count == 1 else 's'}"
