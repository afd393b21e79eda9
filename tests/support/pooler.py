"""A transaction pooler of one backend, as small as it can be: whoever speaks next gets it until its transaction ends."""

import contextlib
import os
import socket
import struct
import threading
from typing import Self

import psycopg
from psycopg.conninfo import make_conninfo

SSL_REQUEST, GSS_REQUEST = 80877103, 80877104
PARAMETERS = {
    "server_version": "18.0",
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "standard_conforming_strings": "on",
    "integer_datetimes": "on",
    "DateStyle": "ISO, MDY",
    "TimeZone": "UTC",
}


class Pooler:
    """Lends one connection to many, transaction by transaction."""

    def __init__(self, dsn: str) -> None:
        self._connection = psycopg.connect(dsn, autocommit=True)
        self._server = socket.socket(fileno=os.dup(self._connection.fileno()))
        self._server.setblocking(True)
        self._free = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._dsn = dsn
        threading.Thread(target=self._accept, daemon=True).start()

    def dsn(self) -> str:
        """The way through the pooler; it lets everyone in."""
        return make_conninfo(self._dsn, host="127.0.0.1", port=self._listener.getsockname()[1], sslmode="disable", gssencmode="disable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self._server.close()
        self._connection.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            self._greet(client)
            while True:
                kind, message = _read(client)
                if kind == b"X":
                    break
                with self._free:
                    self._one_transaction(client, kind, message)
        client.close()

    def _greet(self, client: socket.socket) -> None:
        while True:
            (size,) = struct.unpack("!i", _exactly(client, 4))
            (code,) = struct.unpack("!i", _exactly(client, size - 4)[:4])
            if code not in {SSL_REQUEST, GSS_REQUEST}:
                break
            client.sendall(b"N")
        client.sendall(_message(b"R", struct.pack("!i", 0)))
        for name, value in PARAMETERS.items():
            client.sendall(_message(b"S", name.encode() + b"\0" + value.encode() + b"\0"))
        client.sendall(_message(b"K", struct.pack("!ii", 1, 1)) + _message(b"Z", b"I"))

    def _one_transaction(self, client: socket.socket, kind: bytes, message: bytes) -> None:
        while True:
            self._server.sendall(message)
            if kind in {b"S", b"Q"} and self._answer(client) == b"I":
                return
            kind, message = _read(client)
            if kind == b"X":
                self._server.sendall(_message(b"Q", b"ROLLBACK\0"))
                self._answer(None)
                raise EOFError

    def _answer(self, client: socket.socket | None) -> bytes:
        while True:
            kind, message = _read(self._server)
            if client is not None:
                client.sendall(message)
            if kind == b"Z":
                return message[-1:]


def _message(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("!i", len(content) + 4) + content


def _read(source: socket.socket) -> tuple[bytes, bytes]:
    head = _exactly(source, 5)
    (size,) = struct.unpack("!i", head[1:])
    return head[:1], head + _exactly(source, size - 4)


def _exactly(source: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        piece = source.recv(size - len(content))
        if not piece:
            raise EOFError
        content += piece
    return content
