"""Measures how well the search finds: `make quality`, or `python -m benchmarks.quality.run --help`."""

import argparse
import asyncio
import logging
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import numpy as np

from benchmarks.quality.calibration import CLOSE, bins, fit, small_stores
from benchmarks.quality.search import STEPS, VECTORS, Asked, Question, Set
from zapomni_core.embedding.weight import weight_of
from zapomni_core.search.answer import verdict
from zapomni_db.sqlite import SQLiteStore
from zapomni_db.store import MemoryStore

OWN = Path(__file__).parent / "sets"
CACHE = Path("~/.cache/zapomni-quality")
RESAMPLED = 2000
PASSAGES_TIMED = 100

FIGURES: dict[str, Callable[[Asked], float]] = {
    "R@1": lambda one: one.recall(1),
    "R@5": lambda one: one.recall(5),
    "R@10": lambda one: one.recall(10),
    "MRR": Asked.reciprocal,
    "nDCG@10": Asked.gain,
}


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % bootstrap interval of the mean."""
    chance = np.random.default_rng(1)
    array = np.array(values)
    means = [array[chance.integers(0, len(array), len(array))].mean() for _ in range(RESAMPLED)]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def by_kind(name: str, asked: Sequence[Asked]) -> list[list[str]]:
    """A row for the whole set, and one for each kind."""
    kinds = sorted({one.question.kind for one in asked})
    parts = [("all", list(asked))]
    parts += [(kind, [one for one in asked if one.question.kind == kind]) for kind in kinds if len(kinds) > 1]
    return [
        [name, kind, str(len(some)), *map(_with_interval, _figures(some)), _milliseconds(some)] for kind, some in parts
    ]


def _figures(asked: Sequence[Asked]) -> list[list[float]]:
    return [[100 * figure(one) for one in asked] for figure in FIGURES.values()]


def _with_interval(values: Sequence[float]) -> str:
    low, high = interval(values)
    return f"{np.mean(values):.1f} ({low:.1f} to {high:.1f})"


def _milliseconds(asked: Sequence[Asked]) -> str:
    return f"{1000 * np.median([one.seconds for one in asked]):.1f}"


async def ablation(name: str, own: Set, questions: Sequence[Question]) -> list[list[str]]:
    """The effect of leaving out each step, with all hits shown; the interval is that of the differences."""
    whole, rows = _figures(await own.ask(questions, uncut=True)), []
    for step in STEPS:
        less = _figures(await own.ask(questions, step, uncut=True))
        changes = [np.subtract(after, before).tolist() for before, after in zip(whole, less, strict=True)]
        first, _, ten, _, gain = (f"{np.mean(change):+.1f}" for change in changes)
        low, high = interval(changes[2])
        rows.append([name, step, first, f"{ten} ({low:+.1f} to {high:+.1f})", gain])
        print(*rows[-1], file=sys.stderr)
    return rows


@asynccontextmanager
async def loaded(folder: Path, options: argparse.Namespace) -> AsyncIterator[Set]:
    with tempfile.TemporaryDirectory() as scratch:
        store = _falkordb(options.falkordb) if options.falkordb else SQLiteStore(Path(scratch) / "quality.db")
        cache = options.cache.expanduser()
        one = await Set.load(folder, store, cache, pooled=options.pooled, embedder_name=options.embedder)
        try:
            yield one
        finally:
            await one.engine.close()


def _falkordb(url: str) -> MemoryStore:
    """A store in a new graph of a server; the graph is not deleted."""
    from zapomni_db.falkordb import FalkorDBClient, FalkorDBStore

    return FalkorDBStore(FalkorDBClient.from_url(f"{url.rstrip('/')}/quality-{uuid4().hex}"))


async def measure(folders: Sequence[Path], options: argparse.Namespace) -> None:
    figures, changes = [], []
    for folder in folders:
        async with loaded(folder, options) as own:
            for pooled in (False, True) if own.is_pooled and not options.ablation else (False,):
                name = f"{own.name}, pooled" if pooled else own.name
                questions = own.questions(pooled=pooled)[:: options.every]
                if options.ablation:
                    changes += await ablation(name, own, questions)
                else:
                    rows = by_kind(name, await own.ask(questions, uncut=options.uncut))
                    print(*rows[0], file=sys.stderr)
                    figures += rows
            if not options.ablation:
                await print_speed(own)
    if options.ablation:
        print(table(["set", "left out", "R@1", "R@10", "nDCG@10"], changes))
    else:
        print(table(["set", "kind", "questions", *FIGURES, "ms"], figures))


async def print_speed(own: Set) -> None:
    texts = [memory["text"] for memory in own.memories[:PASSAGES_TIMED]]
    milliseconds, speed = await own.embedder.speed(texts)
    print(f"{own.name}: {milliseconds:.1f} ms to embed a question, {speed:.0f} memories per second")


async def weigh(folders: Sequence[Path], options: argparse.Namespace) -> None:
    """Compare the embedder's own weight of vectors with others."""
    rows = []
    for folder in folders:
        async with loaded(folder, options) as own:
            questions = own.questions()[:: options.every]
            known = await weight_of(own.engine.memories, questions[0].workspace, own.embedder)
            profile = own.embedder.profile
            for weight in [known.weight, *options.weights]:
                own.embedder.profile = replace(profile, vector_weight=weight)
                figures = _figures(await own.ask(questions, uncut=True))
                mark = " (its own)" if weight is known.weight else ""
                rows.append([own.name, f"{weight:.2f}{mark}", *(f"{np.mean(values):.1f}" for values in figures)])
                print(*rows[-1], file=sys.stderr)
            await print_speed(own)
    print(table(["set", "weight", *FIGURES], rows))


async def calibrate(folders: Sequence[Path], options: argparse.Namespace) -> None:
    verdicts, groups, by_words = [], [], []
    for folder in folders:
        async with loaded(folder, options) as own:
            for pooled in (True, False) if own.is_pooled else (False,):
                name = f"{own.name}, pooled" if pooled else own.name
                asked = await own.ask(own.questions(pooled=pooled))
                uncut = await own.ask(own.questions(pooled=pooled), uncut=True)
                verdicts.append([name, "answered", *_verdicts(asked), *_cost(asked, uncut)])
            negatives = await own.ask(own.negatives())
            small = await own.ask(await small_stores(own))
            kinds = {f"not answered, {one.question.kind}": [] for one in negatives}
            for one in negatives:
                kinds[f"not answered, {one.question.kind}"].append(one)
            kinds["answered, small stores"] = [one for one in small if one.question.answers]
            kinds["not answered, small stores"] = [one for one in small if not one.question.answers]
            verdicts += [[own.name, kind, *_verdicts(some), "", ""] for kind, some in kinds.items() if some]
            groups += [asked + [one for one in negatives if one.question.kind != CLOSE], small]
            by_words.append(await own.ask([one.question for one in groups[-2]], VECTORS))
            print(folder.name, file=sys.stderr)
    print(table(["set", "questions", "number", *VERDICTS, "right if good", "R@10", "uncut"], verdicts))
    rows = [
        [f"{low:g} to {high:g}", str(number), f"{100 * sure:.0f} %", f"{100 * share:.0f} %"]
        for low, high, number, sure, share in bins(groups)
    ]
    print(table(["confidence", "questions", "mean", "answered"], rows))
    print("fitted: bias, cover, cosine, ln n:", *(f"{weight:.2f}" for weight in fit(groups)))
    print("fitted, words alone: bias, cover:", *(f"{weight:.2f}" for weight in fit(by_words, by_words=True)))


VERDICTS = "nothing relevant", "weak", "good"


def _verdicts(asked: Sequence[Asked]) -> list[str]:
    """The number of questions, the shares of the verdicts, and the share of good ones that have an answer."""
    said = [verdict(one.confidence) for one in asked]
    good = [one.answered for one, word in zip(asked, said, strict=True) if word == "good"]
    shares = [f"{100 * said.count(word) / len(said):.1f}" for word in VERDICTS]
    return [str(len(asked)), *shares, f"{100 * np.mean(good):.1f}" if good else ""]


def _cost(asked: Sequence[Asked], uncut: Sequence[Asked]) -> list[str]:
    return [f"{100 * np.mean([one.recall(10) for one in some]):.1f}" for some in (asked, uncut)]


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", help="names of sets; without any, all of them")
    parser.add_argument("--data", type=Path, default=OWN, help="a folder of sets; without it, our own")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where vectors are kept between runs")
    parser.add_argument(
        "--pooled", action="store_true", help="ask every set of several workspaces pooled too, not chats alone"
    )
    parser.add_argument("--uncut", action="store_true", help="show all hits where the answer is 'nothing relevant'")
    parser.add_argument(
        "--falkordb", metavar="URL", help="keep the memories there, such as falkordb://host, not in SQLite"
    )
    parser.add_argument("--every", type=int, default=1, help="ask one question of so many")
    parser.add_argument("--ablation", action="store_true", help="measure what each step of the search is worth instead")
    parser.add_argument("--embedder", default="default", help="the embedder; `none` for words alone")
    parser.add_argument(
        "--weights", type=float, nargs="+", help="measure these weights of the vectors beside its own instead"
    )
    parser.add_argument("--calibration", action="store_true", help="measure and fit the confidence instead")
    return parser.parse_args()


def chosen(options: argparse.Namespace) -> list[Path]:
    folders = {path.parent.name: path.parent for path in sorted(options.data.glob("*/questions.jsonl"))}
    if not folders:
        sys.exit(f"no sets in {options.data}: each is a folder with memories.jsonl and questions.jsonl")
    if unknown := set(options.sets) - set(folders):
        sys.exit(f"no set {', '.join(sorted(unknown))} in {options.data}; there are: {', '.join(folders)}")
    return [folders[name] for name in options.sets or folders]


def main() -> None:
    logging.disable(logging.CRITICAL)  # leaving out the vectors looks like a failure
    options = parsed()
    work = calibrate if options.calibration else weigh if options.weights else measure
    asyncio.run(work(chosen(options), options))


if __name__ == "__main__":
    main()
