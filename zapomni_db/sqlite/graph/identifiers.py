"""The ids of entities and relations: digests of what makes them what they are, the same in every store."""

from zapomni_db.sqlite.values import digest

_BYTES = 16


def entity_uid(workspace: str, key: str) -> bytes:
    """The id of an entity, as it is kept."""
    return digest(workspace.encode(), key.encode())


def relation_uid(subject: bytes, kind: str, target: bytes) -> bytes:
    """The id of a relation between the ids of two entities, as it is kept."""
    return digest(subject, kind.encode(), target)


def uid_of(identifier: str) -> bytes | None:
    """An id that was given out, as it is kept; None for what cannot be one."""
    try:
        uid = bytes.fromhex(identifier)
    except ValueError:
        return None
    return uid if len(uid) == _BYTES and uid.hex() == identifier else None
