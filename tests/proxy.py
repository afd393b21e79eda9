"""A small TCP proxy for tests: it forwards, and on request it withholds an answer, swallows a question, waits, or cuts."""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from typing import Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo

# What the ADBC driver and psycopg send to end a transaction.
COMMIT = b"COMMIT\0"


class Proxy:
    """Listens on a free port of the loopback and forwards to one address. Everything may be changed while connections run."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        # Seconds that every piece waits before it is passed on.
        self.delay = 0.0
        # Set once an answer to the armed question has come from the server and is kept back; or once the question is swallowed.
        self.happened = threading.Event()
        self.connections = 0
        self._armed: tuple[bytes, bool] | None = None
        self._refusing = False
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._left_open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    @classmethod
    def before(cls, dsn: str) -> Self:
        """A proxy in front of the PostgreSQL of a DSN."""
        parts = conninfo_to_dict(dsn)
        return cls(str(parts["host"]), int(str(parts["port"])))

    def dsn(self, dsn: str) -> str:
        """The same DSN by way of the proxy, without encryption, so that the proxy can read along."""
        return make_conninfo(dsn, host="127.0.0.1", port=self.port, sslmode="disable", gssencmode="disable")

    def withhold_answer_to(self, question: bytes) -> None:
        """The next connection that sends this gets nothing any more; the server does get the question, and answers into the void."""
        self._arm(question, swallow=False)

    def swallow(self, question: bytes) -> None:
        """The next connection that sends this is held from there on: nothing of it reaches the server any more."""
        self._arm(question, swallow=True)

    def cut(self, *, both_sides: bool = True) -> None:
        """All connections end at once. With `both_sides=False` only the clients notice, as if the cable behind them had been pulled."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
            if not both_sides:
                self._left_open += [server for _, server in pairs]
        for client, server in pairs:
            _reset(client)
            if both_sides:
                _reset(server)

    def refuse(self) -> None:
        """Cut what there is, and end every new connection as soon as it comes."""
        self._refusing = True
        self.cut()

    def accept(self) -> None:
        """Let connections through again."""
        self._refusing = False

    def close(self) -> None:
        """The end of it all."""
        self._stopped.set()
        self._listener.close()
        self.cut()
        for server in self._left_open:
            _reset(server)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _arm(self, question: bytes, *, swallow: bool) -> None:
        self.happened.clear()
        self._armed = (question, swallow)

    def _accept(self) -> None:
        while not self._stopped.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._refusing:
                _reset(client)
                continue
            try:
                server = socket.create_connection(self._target, timeout=10)
            except OSError:
                _reset(client)
                continue
            server.settimeout(None)
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._pairs.append((client, server))
                self.connections += 1
            withheld = threading.Event()
            threading.Thread(target=self._pump, args=(client, server, self._questions(withheld)), daemon=True).start()
            threading.Thread(target=self._pump, args=(server, client, self._answers(withheld)), daemon=True).start()

    def _questions(self, withheld: threading.Event) -> Callable[[bytes], bytes]:
        tail = b""
        swallowing = False

        def filtered(piece: bytes) -> bytes:
            nonlocal tail, swallowing
            armed = self._armed
            if armed and armed[0] in tail + piece:
                self._armed = None
                withheld.set()
                swallowing = armed[1]
                if swallowing:
                    self.happened.set()
            # What was asked before it was armed does not count.
            tail = (tail + piece)[1 - len(armed[0]) :] if armed else b""
            return b"" if swallowing else piece

        return filtered

    def _answers(self, withheld: threading.Event) -> Callable[[bytes], bytes]:
        def filtered(piece: bytes) -> bytes:
            if not withheld.is_set():
                return piece
            self.happened.set()
            return b""

        return filtered

    def _pump(self, source: socket.socket, target: socket.socket, filtered: Callable[[bytes], bytes]) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                if self.delay:
                    self._stopped.wait(self.delay)
                rest = filtered(piece)
                if rest:
                    target.sendall(rest)
        if target not in self._left_open:
            with contextlib.suppress(OSError):
                target.shutdown(socket.SHUT_WR)


def _reset(end: socket.socket) -> None:
    """Close with a reset, so that nobody waits for more."""
    with contextlib.suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        end.shutdown(socket.SHUT_RDWR)
    with contextlib.suppress(OSError):
        end.close()
