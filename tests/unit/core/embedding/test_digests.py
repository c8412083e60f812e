"""What was embedded once is recognised."""

import pytest

from zapomni_core.embedding import digest
from zapomni_db.records import EmbedderIdentity

SOMEONE = EmbedderIdentity("someone", "small", 3)


def test_a_digest_is_the_same_for_the_same_text_and_embedder():
    assert digest(SOMEONE, "text") == digest(EmbedderIdentity("someone", "small", 3), "text")
    assert len(digest(SOMEONE, "text")) == 16


@pytest.mark.parametrize(
    ("identity", "text"),
    [
        (SOMEONE, "Text"),
        (SOMEONE, "text "),
        (EmbedderIdentity("someone", "small", 4), "text"),
        (EmbedderIdentity("someone", "large", 3), "text"),
        (EmbedderIdentity("another", "small", 3), "text"),
    ],
)
def test_another_text_or_embedder_has_another_digest(identity, text):
    assert digest(identity, text) != digest(SOMEONE, "text")


def test_a_digest_is_known_beforehand_because_stores_keep_it():
    assert digest(SOMEONE, "text\ud800").hex() == "8ca7dd332da191bd3d0f0d749e537b65"
