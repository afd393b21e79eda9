"""Which partition a key belongs to, exactly as Kafka's Java clients place it."""

_SEED = 0x9747B28C
_MULTIPLIER = 0x5BD1E995
_WORD = 0xFFFFFFFF


def murmur2(key: bytes) -> int:
    """Kafka's murmur2 as an unsigned 32-bit number (Java shows the same bits as a signed int)."""
    size = len(key)
    whole = size - size % 4
    digest = _SEED ^ size
    for start in range(0, whole, 4):
        word = int.from_bytes(key[start : start + 4], "little") * _MULTIPLIER & _WORD
        word = (word ^ word >> 24) * _MULTIPLIER & _WORD
        digest = digest * _MULTIPLIER & _WORD ^ word
    if whole < size:
        digest = (digest ^ int.from_bytes(key[whole:], "little")) * _MULTIPLIER & _WORD
    digest = (digest ^ digest >> 13) * _MULTIPLIER & _WORD
    return digest ^ digest >> 15


def partition_for(key: bytes, partitions: int) -> int:
    """Java drops the sign bit before it divides; a remainder of a negative number would be another partition."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
