"""The tuning corpus is sound and apart from the recall corpus, and what is fitted on it is computed right."""

from collections import Counter
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
import pytest
from zapomni_core.search.confidence import luck

from tests.recall.harness import CORPUS, Asked, questions, rows
from tests.recall.looks import Look, looks_report
from tests.recall.tune import EVEN, TUNING, Evidence, Found, Weights, area, fit, grid, weights_report


@pytest.fixture(scope="module")
def memories():
    return {row["key"]: row for row in rows("memories.jsonl", TUNING)}


@pytest.fixture(scope="module")
def asked():
    return rows("questions.jsonl", TUNING)


def _evidence(answers, *, words, meaning, covers, kind="fact"):
    """One question; each candidate is a memory of one chunk, and the first ones are answers."""
    count = len(words)
    return Evidence(
        asked=Asked("u", "?", frozenset(["t"] if answers else []), kind, close=False),
        language="en",
        words=np.array(words),
        meaning=np.array(meaning),
        bonus=np.zeros(count),
        covers=np.array(covers),
        cosines=np.array(meaning),
        starts=np.arange(count),
        answers=np.arange(count) < answers,
        mean=0.0,
        spread=1.0,
        chunks=count,
    )


def test_keys_texts_and_questions_come_once(memories, asked):
    assert len(memories) == len(rows("memories.jsonl", TUNING))
    assert len({memory["text"] for memory in memories.values()}) == len(memories)
    assert len({question["key"] for question in asked}) == len(asked)
    assert len({question["question"] for question in asked}) == len(asked)


def test_every_answer_is_a_memory_and_only_unanswerable_questions_have_none(memories, asked):
    assert all(key in memories for question in asked for key in question["answers"])
    assert all(bool(question["answers"]) == (question["kind"] != "unanswerable") for question in asked)


def test_a_question_is_in_another_language_than_its_answers_if_it_says_so(memories, asked):
    for question in asked:
        tongues = {memories[key]["tongue"] for key in question["answers"]}
        if tongues:
            assert (question["language"] not in tongues) == (question["kind"] == "crosslingual"), question["key"]


def test_there_is_enough_of_every_kind(memories, asked):
    kinds = Counter(question["kind"] for question in asked)
    talks = Counter(memory["metadata"].get("conversation") for memory in memories.values())
    assert min(kinds.values()) >= 25
    assert kinds["crosslingual"] >= 90
    assert min(Counter(question["close"] for question in asked if "close" in question).values()) >= 40
    assert sum(turns >= 12 for talk, turns in talks.items() if talk) >= 6


def test_the_two_corpora_share_no_memory_and_no_question(memories):
    tested = {row["text"].casefold() for row in rows("memories.jsonl", CORPUS)}
    assert tested.isdisjoint(memory["text"].casefold() for memory in memories.values())
    theirs, ours = ({one.text.casefold() for one in questions(corpus)} for corpus in (CORPUS, TUNING))
    assert theirs.isdisjoint(ours)


@pytest.mark.parametrize(("cover", "alpha"), [(0, 0.2), (0.1, 0.2), (0.3, 0.5), (0.5, 0.8), (1, 0.8)])
def test_words_weigh_more_the_more_they_cover(cover, alpha):
    assert Weights(0.2, 0.8, 0.1, 0.5).alpha(cover) == pytest.approx(alpha)


def test_weights_are_compared_by_where_they_put_the_answer():
    evidence = [_evidence(1, words=[0.9, 0.1], meaning=[0.0, 0.2], covers=[0.9, 0.1])]
    assert Found.by(Weights(0.9, 0.9, 0, 1), evidence).means == (1, 1, 1)
    assert Found.by(Weights(0.1, 0.1, 0, 1), evidence).means == (0, 1, 0.5)


def test_sure_vectors_leave_words_a_quarter_of_their_weight():
    sure, doubtful = (_evidence(1, words=[1.0], meaning=[cosine], covers=[1.0]) for cosine in (0.6, 0.3))
    weights = Weights(0.2, 0.8, 0, 0.7)
    assert (sure.alpha(weights), doubtful.alpha(weights)) == pytest.approx((0.2, 0.8))


def test_an_answer_that_is_no_candidate_is_not_found():
    evidence = _evidence(0, words=[0.9, 0.1], meaning=[0.0, 1.0], covers=[0.9, 0.1])
    assert evidence.place(0.5) == np.inf


def test_confidence_looks_at_the_five_best_hits():
    covers = [0.1, 0.2, 0.3, 0.4, 0.5, 1.0]
    evidence = _evidence(1, words=covers, meaning=[0.9, 0.8, 0.7, 0.6, 0.5, 0.0], covers=covers)
    assert evidence.features(0.0) == pytest.approx([1, 0.5, 0.9, 0.9, luck(6)])


def test_the_report_names_the_current_weights():
    evidence = [_evidence(1, words=[0.9, 0.1], meaning=[0.0, 1.0], covers=[0.9, 0.1])]
    assert weights_report(evidence).count("(current)") == 1
    assert len(grid()) == len(set(grid())) >= 192


def test_the_report_of_the_closer_look_names_the_current_weights():
    hits = [SimpleNamespace(memory_id="1"), SimpleNamespace(memory_id="2")]
    answered = SimpleNamespace(needs_look=False, result=SimpleNamespace(hits=hits), replies={})
    looks = [
        Look(Asked("u", "?", frozenset([answer]), "crosslingual", close=False), answered, {"1": "t", "2": "v"}, {})
        for answer in "tv"
    ]
    reported = looks_report(looks)
    assert reported.count("(current)") == 1
    assert reported.count("| 50.0 | 50.0 |") == len(reported.splitlines()) - 2


def test_an_area_is_the_share_of_pairs_in_order():
    assert area(np.array([3.0, 1.0]), np.array([2.0, 1.0])) == pytest.approx((1 + 1 + 0 + 0.5) / 4)


@pytest.fixture(scope="module")
def two_groups():
    """Two normal distributions, 2 apart: the log odds are 2 * (x - 1), even in the middle."""
    quantiles = [NormalDist().inv_cdf((number + 0.5) / 400) for number in range(400)]
    values = np.array([*quantiles, *(value + 2 for value in quantiles)])
    return np.column_stack([np.ones(len(values)), values])


def test_a_fit_finds_the_odds_with_even_ones_in_the_middle_of_what_is_weak(two_groups):
    bias, slope = fit(two_groups, [""] * 400 + ["fact"] * 400)
    assert slope == pytest.approx(2, abs=0.1)
    assert 1 / (1 + np.exp(-bias - slope)) == pytest.approx(EVEN, abs=0.02)


def test_a_kind_weighs_the_same_however_many_are_asked(two_groups):
    groups = [""] * 400 + ["fact"] * 100 + ["note"] * 300
    more = [*range(800), *range(400, 500), *range(400, 500)]
    assert fit(two_groups[more], [groups[row] for row in more]) == pytest.approx(fit(two_groups, groups), abs=1e-3)
