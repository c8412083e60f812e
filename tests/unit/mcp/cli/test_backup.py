"""`zapomni backup` and `restore-backup`."""


def test_a_backup_is_a_complete_store(zapomni, document, remember, tmp_path, monkeypatch):
    memory = remember("word")
    result = zapomni("backup", "copy.db")
    target = tmp_path / "work" / "copy.db"
    assert result.stdout.startswith(f"Wrote {target} (")
    monkeypatch.setenv("ZAPOMNI_STORE", f"sqlite://{target}")
    assert document("get", memory)["text"] == "word"


def test_restoring_a_backup_replaces_the_store_and_keeps_the_old_one(zapomni, document, remember, monkeypatch):
    memory = remember("word")
    zapomni("backup", "copy.db")
    later = remember("later word")
    assert zapomni("restore-backup", "copy.db").exit_code == 2, "there is no terminal to ask on"
    before = document("restore-backup", "copy.db", "--yes")["before"]
    assert document("get", memory)["text"] == "word"
    assert zapomni("get", later).exit_code == 1
    assert "copy.db" in zapomni("restore-backup", "copy.db", "--yes").stdout
    monkeypatch.setenv("ZAPOMNI_STORE", f"sqlite://{before}")
    assert document("get", later)["text"] == "later word"


def test_a_backup_overwrites_a_file_only_with_force(zapomni, document, tmp_path):
    target = tmp_path / "precious.txt"
    target.write_text("mine")
    result = zapomni("backup", str(target))
    assert (result.exit_code, target.read_text()) == (2, "mine")
    assert "--force" in result.stderr
    assert document("backup", str(target), "--force") == {"target": str(target), "bytes": target.stat().st_size}
