"""A quarter of our own questions is answered about as well as measured; `make quality` measures all."""

import asyncio
from statistics import fmean

import pytest

from benchmarks.quality.run import OWN
from benchmarks.quality.search import Set
from zapomni_db.sqlite import SQLiteStore

EVERY = 4
"""One question in so many is used."""


async def _ask(folder):
    own = await Set.load(OWN / "tuning", SQLiteStore(folder / "quality.db"), folder)
    try:
        return await own.ask(own.questions()[::EVERY]), await own.ask(own.negatives()[::EVERY])
    finally:
        await own.engine.close()


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    return asyncio.run(_ask(tmp_path_factory.mktemp("quality")))


def test_answers_are_among_the_first_ten_hits(asked):
    assert fmean(one.recall(10) for one in asked[0]) > 0.77


def test_answers_in_another_language_are_among_the_first_ten_hits(asked):
    across = [one.recall(10) for one in asked[0] if one.question.kind == "crosslingual"]
    assert len(across) > 40
    assert fmean(across) > 0.65


def test_confidence_is_higher_for_questions_with_an_answer(asked):
    answered, unanswered = [fmean(one.confidence for one in some) for some in asked]
    assert answered > unanswered + 0.1
