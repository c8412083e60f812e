"""The score of a chunk, rule by rule."""

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from zapomni_core.embedding import Profile
from zapomni_core.search.score import names_known_identifier, score
from zapomni_db.records import Candidate, Candidates, Question, TermCounts

DAY = datetime(2023, 5, 8, tzinfo=UTC)
PROFILE = Profile(vector_weight=0.5, author_bonus=0.25)
VECTOR = np.ones(2, np.float32)


def candidate(memory, *counts, length=10, cosine=None, moment=DAY, author="", meets=True, chunk=""):
    return Candidate(chunk or memory, memory, length, counts, cosine, moment, author, meets)


def scored(*found, links=(), holding=None, chunks=100, vector=None, text="question"):
    """Scores of candidates, for a question whose terms so many chunks hold."""
    terms = tuple(f"t{number}" for number in range(len(found[0].counts) if found else 0))
    counts = TermCounts(chunks, tuple(holding or [1] * len(terms)))
    proposed = Candidates(list(found), list(links), False, False, None, 0)
    return score(text, Question(terms=terms, counts=counts, vector=vector), proposed, PROFILE)


def words(*soft):
    """The words of a chunk in a question of equally rare terms."""
    return sum(1.6 * one / (one + 0.6) for one in soft) / len(soft)


def talk(*memories):
    """The links of a conversation, as a store gives them for the first memory named."""
    asked, *others = memories
    return [(asked, offset, other) for offset, other in others]


class TestWords:
    def test_a_term_counts_by_its_rarity_and_saturates(self):
        found = scored(candidate("a", 1, 0), candidate("b", 0, 3), holding=(1, 20))
        rare, common = (math.log(1 + (100 - df + 0.5) / (df + 0.5)) for df in (1, 20))
        assert found.words == pytest.approx([rare / (rare + common), words(3) * common / (rare + common)])

    def test_a_term_that_no_chunk_holds_counts_in_what_could_be_covered(self):
        found = scored(candidate("a", 1, 0), holding=(5, 0))
        known, unknown = (math.log(1 + (100 - df + 0.5) / (df + 0.5)) for df in (5, 0))
        assert found.words == pytest.approx([known / (known + unknown)])

    def test_a_question_without_terms_is_covered_by_nothing(self):
        assert scored(candidate("a", cosine=0.5), vector=VECTOR).words.tolist() == [0]

    @pytest.mark.parametrize(("counts", "share"), [((0, 0, 1), words(0, 0, 1) / 0.6), ((0, 1, 1), 1), ((5, 5, 5), 1)])
    def test_words_count_less_where_no_chunk_covers_the_question(self, counts, share):
        found = scored(candidate("a", *counts), candidate("b", 0, 0, 1))
        assert found.total == pytest.approx(found.words * share)
        assert found.total[0] == pytest.approx(words(*counts) * share)

    def test_nothing_depends_on_how_much_is_proposed(self):
        some = [candidate("a", 1, 0, cosine=0.5), candidate("b", 1, 2, cosine=0.1)]
        more = [candidate(f"m{number}", 0, 1, cosine=0.2) for number in range(50)]
        alone, among = scored(*some, vector=VECTOR), scored(*some, *more, vector=VECTOR)
        assert among.total[:2] == pytest.approx(alone.total)

    def test_no_candidates_give_no_scores(self):
        assert scored().best() == []


class TestNeighbours:
    @pytest.mark.parametrize(("offset", "weight"), [(-2, 0.2), (-1, 0.4), (1, 0.4), (2, 0.2)])
    def test_a_neighbour_lends_its_words_by_its_distance(self, offset, weight):
        found = scored(candidate("a", 1, 0), candidate("b", 0, 2), links=talk("a", (offset, "b")))
        assert found.words[0] == pytest.approx(words(1, 2 * weight))
        assert found.words[1] == pytest.approx(words(weight, 2))
        assert found.lent.tolist() == [True, True]

    @pytest.mark.parametrize(("length", "share"), [(1, 1), (15, 1), (30, 0.5), (150, 0.1)])
    def test_a_long_neighbour_lends_less(self, length, share):
        found = scored(candidate("a", 1, 0), candidate("b", 0, 1, length=length), links=talk("a", (1, "b")))
        assert found.words[0] == pytest.approx(words(1, 0.4 * share))

    def test_every_chunk_of_a_neighbour_that_came_along_lends(self):
        parts = [candidate("b", 0, 1, chunk=f"b{number}") for number in range(3)]
        found = scored(candidate("a", 1, 0), *parts, links=talk("a", (1, "b")))
        assert found.words[0] == pytest.approx(words(1, 1.2))
        assert found.words[1] == pytest.approx(words(0.4, 1)), "chunks of one memory lend each other nothing"

    def test_a_neighbour_is_scored_with_the_words_of_its_own_neighbours(self):
        """The answer shares no word with the question, but its neighbours do."""
        links = talk("asked", (-1, "before"), (1, "answer"), (2, "after"))
        found = scored(
            candidate("before", 0, 1, 0),
            candidate("asked", 1, 0, 0),
            candidate("answer", 0, 0, 0),
            candidate("after", 0, 0, 1),
            links=links,
        )
        assert found.words == pytest.approx(
            [words(0.4, 1, 0), words(1, 0.4, 0.2), words(0.4, 0.2, 0.4), words(0.2, 0, 1)]
        )
        assert not found.own[2].any()

    def test_links_reported_by_several_memories_count_once(self):
        links = [*talk("a", (1, "b"), (2, "c")), *talk("b", (-1, "a"), (1, "c"))]
        found = scored(candidate("a", 1, 0), candidate("b", 0, 1), candidate("c", 0, 0), links=links)
        assert found.words[0] == pytest.approx(words(1, 0.4))
        assert found.words[2] == pytest.approx(words(0.2, 0.4))

    def test_a_neighbour_that_was_not_proposed_lends_nothing(self):
        assert scored(candidate("a", 1), links=talk("a", (1, "gone"))).words == pytest.approx([1])

    def test_a_neighbour_excluded_by_the_filter_lends_its_words_but_is_not_a_hit(self):
        found = scored(
            candidate("a", 0, 0, 1, cosine=0.1),
            candidate("b", 5, 5, 0, cosine=0.9, author="question", meets=False),
            candidate("c", 0, 0, 0),
            links=talk("a", (1, "b")),
            vector=VECTOR,
        )
        assert [one.memory_id for one in found.chunks] == ["a", "c"]
        lent = words(2, 2, 1)
        assert found.words == pytest.approx([lent, 0])
        assert found.words_part == pytest.approx([lent * min(1, lent / 0.6), 0])
        assert found.cosines == pytest.approx([0.1, 0.1])


class TestVectors:
    def test_a_cosine_counts_by_the_profile(self):
        found = scored(candidate("a", 1, cosine=0.5), candidate("b", 0, cosine=-0.5), vector=VECTOR)
        assert found.total == pytest.approx([1.25, -0.25])

    def test_a_chunk_without_a_vector_counts_as_the_lowest_cosine(self):
        found = scored(candidate("a", 1, cosine=0.8), candidate("b", 1), candidate("c", 0, cosine=0.2), vector=VECTOR)
        assert found.cosines == pytest.approx([0.8, 0.2, 0.2])

    def test_where_no_chunk_has_a_vector_words_count_alone(self):
        found = scored(candidate("a", 1), candidate("b", 0), vector=VECTOR)
        assert found.cosines is None
        assert found.total == pytest.approx([1, 0])

    def test_without_a_vector_of_the_question_words_count_alone(self):
        assert scored(candidate("a", 1, cosine=0.9)).total == pytest.approx([1])


class TestAuthors:
    @pytest.mark.parametrize(
        ("author", "text", "bonus"),
        [
            ("Ada Lovelace", "What did ADA say?", True),
            ("ada", "Ada's piano", True),
            ("Ada", "adamant", False),
            ("Adam", "Ada", False),
            ("", "Ada", False),
            ("Пётр", "что сказал петр", True),
        ],
    )
    def test_an_author_whom_the_question_names_has_a_bonus(self, author, text, bonus):
        found = scored(candidate("a", 1, author=author), candidate("b", 1), text=text)
        assert found.total == pytest.approx([1 + 0.25 * bonus, 1])
        assert found.by_author.tolist() == [bonus, False]


class TestOrder:
    def test_of_equal_scores_the_newest_comes_first_then_the_least_id(self):
        later = DAY + timedelta(days=1)
        found = scored(
            candidate("c", 1), candidate("b", 1, moment=later), candidate("a", 1), candidate("d", 2), candidate("e", 0)
        )
        assert [found.chunks[number].memory_id for number in found.best()] == ["d", "b", "a", "c", "e"]

    def test_a_memory_comes_once_with_its_best_chunk(self):
        found = scored(candidate("a", 1, chunk="1"), candidate("b", 2), candidate("a", 3, chunk="2"))
        assert [found.chunks[number].chunk for number in found.best()] == ["2", "b"]

    def test_equal_cosines_that_were_computed_differently_are_equal(self):
        later = DAY + timedelta(days=1)
        found = scored(candidate("a", 1, cosine=0.50000001), candidate("b", 1, cosine=0.5, moment=later), vector=VECTOR)
        assert [found.chunks[number].memory_id for number in found.best()] == ["b", "a"]


class TestIdentifiers:
    @pytest.mark.parametrize(
        "text",
        [
            "who ordered 48213?",
            "commit 3f9a1c07e2",
            "error E40217",
            "invoice INV_2024_17",
            "call +49 30 1234567",
            "(030) 123-45-67 8",
            "030/12.34.56.7",
        ],
    )
    def test_hashes_numbers_and_telephone_numbers_are_identifiers(self, text):
        assert known(text)

    @pytest.mark.parametrize(
        "text", ["BRCA1 and CYP450", "in 2024", "room 417", "v2.3.1", "1234", "12 34 56 78", "abcdefgh"]
    )
    def test_genes_years_and_versions_are_not_identifiers(self, text):
        assert not known(text)

    def test_an_identifier_that_no_chunk_holds_does_not_count(self):
        assert not names_known_identifier("who ordered 48213?", ["order", "48213"], TermCounts(9, (3, 0)))


def known(text):
    from zapomni_core.text.terms import query_terms

    terms = list(query_terms(text))
    return names_known_identifier(text, terms, TermCounts(9, (1,) * len(terms)))
