"""What a value that is no JSON object looks like, told from its first bytes, so that the dead letter can say what probably happened."""

from comporta.decoding.reasons import Reason, Rejected

_LOOKS: tuple[tuple[bytes, str], ...] = (
    (b"\x00", "byte 0 begins the framing of a schema registry (Avro, Protobuf, JSON Schema), which is not read here"),
    (b"[", "looks like a JSON array: send one object per record"),
    (b'"', "looks like a JSON string: the object was probably serialised twice"),
    (b"\xef\xbb\xbf", "begins with a byte order mark: send UTF-8 without it"),
    (b"\xff\xfe", "looks like UTF-16: send UTF-8"),
    (b"\xfe\xff", "looks like UTF-16: send UTF-8"),
    (b"Obj\x01", "looks like an Avro container file: send single records"),
    (b"\xc3\x01", "looks like Avro's single-object encoding, which is not read here"),
    (b"PAR1", "looks like a Parquet file: send single records"),
    (b"\x1f\x8b", "looks like gzip: let the producer compress (compression.type), not the application"),
    (b"\x28\xb5\x2f\xfd", "looks like zstd: let the producer compress (compression.type), not the application"),
    (b"\xac\xed", "looks like a serialised Java object"),
    (b"<", "looks like XML or HTML"),
    (b" ", "white space stands before the first byte of the record"),
    (b"\t", "white space stands before the first byte of the record"),
    (b"\n", "white space stands before the first byte of the record"),
    (b"\r", "white space stands before the first byte of the record"),
)


def other_framing(value: bytes) -> Rejected:
    """The reason for a value whose first byte is not `{`."""
    if not value:
        return Rejected(Reason.EMPTY, "the value has no bytes; a tombstone would be null")
    for beginning, look in _LOOKS:
        if value.startswith(beginning):
            return Rejected(Reason.AVRO_MAGIC, look)
    return Rejected(Reason.AVRO_MAGIC, "the first byte is neither { nor 0")
