"""The fingerprint of a record as it stands in the log; the ledger keeps the one of the last record committed."""

from hashlib import blake2b


def record_hash(offset: int, timestamp_us: int, key: bytes | None, value: bytes | None) -> bytes:
    """Sixteen bytes that change when any part of the record changes; a null and an empty part differ."""
    digest = blake2b(digest_size=16)
    digest.update(offset.to_bytes(8, "big", signed=True))
    digest.update(timestamp_us.to_bytes(8, "big", signed=True))
    for part in (key, value):
        digest.update((-1 if part is None else len(part)).to_bytes(8, "big", signed=True))
        digest.update(part or b"")
    return digest.digest()
