"""Prints what each step of the search finds of the corpus, as Markdown. Run: .venv/bin/python tests/recall/report.py."""

import asyncio
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from zapomni_core.search.confidence import NOTHING_BELOW, WEAK_BELOW

from tests.recall.harness import CORPUS, STEPS, Outcome, Recall, ask_everything, by_kind, mean_over_kinds, share

MEASURES: dict[str, Callable[[Recall], float]] = {
    "R@1": lambda recall: recall.first,
    "R@5": lambda recall: recall.five,
    "MRR": lambda recall: recall.reciprocal,
}
THRESHOLDS = (0.1, NOTHING_BELOW, 0.3, WEAK_BELOW)


def report(outcomes: Sequence[Outcome]) -> str:
    """All tables."""
    tables = [_recall_table(outcomes, name, measure) for name, measure in MEASURES.items()]
    tables.append(_confidence_table(outcomes, "with vectors", lambda outcome: outcome.confidence))
    tables.append(_confidence_table(outcomes, "by words alone", lambda outcome: outcome.confidence_by_words))
    return "\n\n".join(tables)


def _recall_table(outcomes: Sequence[Outcome], name: str, measure: Callable[[Recall], float]) -> str:
    lines = [
        [kind, str(len(some)), *(percent(measure(Recall.of(some, step))) for step in STEPS)]
        for kind, some in sorted(by_kind(outcomes).items())
    ]
    mean = ["**mean of kinds**", "", *(percent(measure(mean_over_kinds(outcomes, step))) for step in STEPS)]
    return table([name, "questions", *STEPS], [*lines, mean])


def _confidence_table(outcomes: Sequence[Outcome], how: str, sure: Callable[[Outcome], float]) -> str:
    """Of questions with an answer, how many are kept; of those without, how many are given one all the same."""
    groups = {
        "answerable kept": [one for one in outcomes if one.asked.answers],
        "crosslingual kept": by_kind(outcomes)["crosslingual"],
        "close, false answers": [one for one in outcomes if not one.asked.answers and one.asked.close],
        "off topic, false answers": [one for one in outcomes if not one.asked.answers and not one.asked.close],
    }
    lines = [
        [
            f"{least:.1f}",
            *(percent(share(some, lambda one, least=least: sure(one) >= least)) for some in groups.values()),
        ]
        for least in THRESHOLDS
    ]
    return table([f"confidence {how}, at least", *groups], lines)


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *lines])


def percent(value: float) -> str:
    """A share in percent."""
    return f"{100 * value:.1f}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        [outcomes] = asyncio.run(ask_everything(Path(folder), CORPUS))
        sys.stdout.write(report(outcomes) + "\n")
