"""The file as a whole: checks it, creates it if necessary, and opens connections to it."""

import threading
from contextlib import closing, suppress
from pathlib import Path

import apsw

from zapomni_db.errors import StoreReplacedError, StoreTooNewError, StoreUnavailableError
from zapomni_db.sqlite import schema
from zapomni_db.sqlite.connection import (
    closed_on_error,
    damaged,
    held,
    last_change,
    one,
    open_connection,
    shown,
    transaction,
    translated,
)
from zapomni_db.sqlite.files import OpenedFiles, make_file, real_path
from zapomni_db.sqlite.lock import LockFile, MainFile, Note


class Database:
    """One file and its lock file. Nothing is opened before the first `connect`."""

    def __init__(self, path: Path, patience: float) -> None:
        self.path = real_path(path)
        self._named = path
        self.lock = LockFile(self.path)
        self._file: MainFile | None = None
        self._patience = patience
        self._preparing = threading.Lock()
        self._opened_files: OpenedFiles | None = None

    def connect(self, *, writing: bool = False) -> apsw.Connection:
        """A new connection, after quick checks of the store."""
        with self._preparing, translated(self.path):
            if self._opened_files:
                self._opened_files.check()
            file = self._opened_files.file if self._opened_files else self._prepare()
            connection = open_connection(self.path, writing=writing)
            with closed_on_error(connection):
                connection.pragma("query_only", not writing)
                last_change(connection)
                self._opened_files = self._opened_files or self._found(file)
            return connection

    def guard(self, connection: apsw.Connection) -> None:
        """Raise if another process removed, replaced or overwrote the files, or upgraded them to a newer version."""
        if self._opened_files:
            self._opened_files.check()
        if self._is_overwritten():
            raise StoreReplacedError(
                f"The file {shown(self.path)} was overwritten while it was open, as by cp. Nothing is read or written any more."
                " Stop all servers, then put the backup in its place: zapomni restore-backup FILE"
            )
        self._refuse_another_version(connection.execute("PRAGMA user_version").get)

    def _is_overwritten(self) -> bool:
        return self._file is not None and self._file.is_overwritten()

    def skip_checkpoint_if_overwritten(self, connection: apsw.Connection) -> None:
        """Keep the last connection from writing the -wal into a file that it does not belong to."""
        if self._is_overwritten():
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)

    def close(self) -> None:
        """Close the files."""
        self.lock.close()
        if self._file:
            self._file.close()

    def _found(self, file: int) -> OpenedFiles:
        """The files that were opened; another process may have put a backup in their place since they were prepared."""
        with suppress(FileNotFoundError):  # a backup has no -wal
            opened = OpenedFiles.of(self._named, self.path)
            if opened.file == file:
                return opened
        raise held(self.path)

    def _prepare(self) -> int:
        """Create or check the store; the inode of its file."""
        make_file(self.path, self.lock)
        file = self.path.stat().st_ino
        noted = self.lock.read_note()
        with closing(open_connection(self.path)) as connection:
            if connection.readonly("main"):
                raise StoreUnavailableError(
                    f"The store {shown(self.path)} is read-only: give this user the right to write it."
                )
            if not self._is_current(connection):
                with self.lock.hold(self._patience):
                    self._adopt(connection)
            self._refuse_behind(noted, Note.parse(one(connection, "SELECT value FROM meta WHERE key = 'store'")))
        self._file = self._file or MainFile(self.path)
        self._file.is_overwritten()
        return file

    def _is_current(self, connection: apsw.Connection) -> bool:
        with transaction(connection, "DEFERRED"):  # at one moment: another process may be making the store
            version, application = connection.pragma("user_version"), connection.pragma("application_id")
            tables = one(connection, "SELECT count(*) FROM sqlite_schema")
        if application == schema.APPLICATION_ID:
            self._refuse_another_version(version)
            return bool(connection.pragma("journal_mode") == "wal")
        if version or application or tables:
            raise StoreUnavailableError(
                f"The file {shown(self.path)} is a database of another program: choose another path."
            )
        return False

    def _adopt(self, connection: apsw.Connection) -> None:
        """Create the tables, unless another process did so while this one waited."""
        if self._is_current(connection):
            return
        if not connection.pragma("application_id") and self.lock.read_note():
            raise damaged(self.path, "nothing is in the file, but memories were kept in it: is its -wal missing?")
        if connection.pragma("journal_mode", "wal") != "wal":
            raise StoreUnavailableError(
                f"The store {shown(self.path)} is where files cannot be shared: choose a local disk."
            )
        with transaction(connection):
            if not connection.pragma("application_id"):
                schema.create(connection)

    def _refuse_another_version(self, version: int) -> None:
        if version > schema.VERSION:
            raise StoreTooNewError(
                f"The store {shown(self.path)} was made by a newer Zapomni (version {version} of its format,"
                f" this one knows {schema.VERSION}): update Zapomni. Nothing was changed."
            )
        if version < schema.VERSION:
            raise StoreUnavailableError(
                f"The store {shown(self.path)} was made by an older Zapomni, before its first release (version {version} of"
                f" its format, this one reads {schema.VERSION} only). Nothing was changed. Move the file away, or choose"
                " another path for the store."
            )

    def _refuse_behind(self, noted: Note | None, found: Note) -> None:
        """Raise if the store is behind the note in the lock file: commits were lost."""
        missing = noted.commit - found.commit if noted and noted.store == found.store else 0
        if missing > 0 and self.lock.read_note() == noted:
            lost = "last change is" if missing == 1 else f"last {missing} changes are"
            raise damaged(
                self.path,
                f"its {lost} missing: its -wal was removed, or an old copy was put in its"
                f" place. Put the -wal back, or delete {shown(f'{self.path}.lock')} to go on with what is there",
            )
