"""The terms of chunks as FTS5 keeps them: any text is a term, and is found as exactly what it was."""

import re
from collections.abc import Iterable, Sequence

import apsw
import numpy as np

from zapomni_db.arrays import Rows
from zapomni_db.sqlite.connection import rows
from zapomni_db.values import digest, integers

# FTS5 would fold A to Z, split at control characters and spaces, and cut what is very long. Such terms are kept by digest,
# behind a mark that no term itself can begin with.
_MARK = "\ue000"
_LONGEST = 200
_PLAIN = re.compile(rf"[^A-Z\x00-\x20\x7f\ud800-\udfff{_MARK}]{{1,{_LONGEST}}}")
_STRANGE = re.compile(rf"[A-Z\x00-\x1f\x7f\ud800-\udfff{_MARK}]")


def token(term: str) -> str:
    """A term as it stands in the index."""
    if _PLAIN.fullmatch(term):
        return term
    return _MARK + digest(term.encode(errors="surrogatepass")).hex()


def insert(connection: apsw.Connection, chunks: Sequence[tuple[int, Sequence[str]]]) -> None:
    """Index chunks by their terms."""
    connection.executemany(
        "INSERT INTO term(rowid, terms) VALUES(?, ?)", [(chunk, _tokens(terms)) for chunk, terms in chunks]
    )


def _tokens(terms: Sequence[str]) -> str:
    """Terms as they stand in the index. They mostly are plain, which is seen fastest of all at once."""
    joined = " ".join(terms)
    is_plain = not _STRANGE.search(joined) and joined.count(" ") == len(terms) - 1
    if is_plain and all(0 < len(term) <= _LONGEST for term in terms):
        return joined
    return " ".join(map(token, terms))


def delete(connection: apsw.Connection, chunks: Sequence[int]) -> None:
    """Remove chunks from the index."""
    connection.executemany("DELETE FROM term WHERE rowid = ?", [(chunk,) for chunk in chunks])


def postings(connection: apsw.Connection, terms: Iterable[str]) -> dict[str, tuple[Rows, Rows]]:
    """For each term the chunks that hold it, growing, dead ones too, and how often each holds it."""
    tokens = {token(term): term for term in terms}
    if not tokens:
        return {}
    statement = "SELECT value, (SELECT group_concat(doc) FROM vocabulary WHERE term = value) FROM carray(?)"
    found = rows(connection, statement, apsw.carray(tuple(tokens)))
    return {tokens[kept]: _counted(integers(listed)) for kept, listed in found}


def _counted(holding: Rows) -> tuple[Rows, Rows]:
    """Each chunk once, and how often it is there."""
    ends = np.append(np.flatnonzero(holding[1:] != holding[:-1]) + 1, len(holding))[: len(holding)]
    counts = ends.copy()
    counts[1:] -= ends[:-1]
    return holding[ends - 1], counts
