"""Errors of stores.

Exception
├── InvalidInputError            invalid input; names the field and the rule, safe to show
└── DatabaseError                the store cannot be reached, or refused what was asked of it
    ├── StoreUnavailableError    it cannot be opened or reached now; says what to do
    ├── StoreReplacedError       its file was replaced or removed while it was open; opening it again helps
    ├── StoreFullError           the disk is full; nothing was written
    ├── StoreDamagedError        what is kept cannot be trusted; nothing was touched
    ├── StoreTooNewError         a newer Zapomni made it
    ├── EmbedderMismatchError    its vectors were made by another embedder
    ├── MemoryNotFoundError      a memory that something should refer to is not there
    └── JobNotFoundError         unknown job
"""


class InvalidInputError(ValueError):
    """Invalid input. The message names the field and the rule, never the value, and is safe to show."""


class DatabaseError(Exception):
    """The store could not do what was asked; a driver's own exception never escapes, it is the cause."""


class StoreUnavailableError(DatabaseError):
    """The store cannot be opened or reached now; the message says what to do."""


class StoreReplacedError(DatabaseError):
    """The store's file was replaced or removed while it was open. It must be opened again."""


class StoreFullError(DatabaseError):
    """The disk is full. Nothing was written; what was stored is intact."""


class StoreDamagedError(DatabaseError):
    """The stored data cannot be trusted; nothing was touched."""


class StoreTooNewError(DatabaseError):
    """A newer Zapomni made this store."""


class EmbedderMismatchError(DatabaseError):
    """The store's vectors were made by another embedder."""


class MemoryNotFoundError(DatabaseError):
    """A memory that something should refer to is not there."""


class JobNotFoundError(DatabaseError):
    """The job is unknown, or was done so long ago that it was removed."""
