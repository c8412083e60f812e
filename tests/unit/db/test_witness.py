"""The note beside a store says which store was written, and how far."""

from zapomni_db.sqlite.witness import Note, Witness


def test_a_note_is_the_last_one_that_was_written_whatever_stood_there(tmp_path):
    witness = Witness(tmp_path / "memory.db")
    assert witness.read() is None
    for note in (Note("a" * 32, 1234), Note("b" * 32, 5), Note("b" * 32, 6)):
        witness.write(note)
        assert witness.read() == note
    witness.forget()
    assert witness.read() is None
    witness.close()
