"""Point-to-point messages over sockets: sent without waiting, received in order.

Unlike collectives, they need no program that both sides run at the same time: a message waits in
the receiver's memory until it is received.
"""

from __future__ import annotations

import json
import os
import queue
import secrets
import socket
import threading
from collections import defaultdict, deque
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

import numpy as np

from mycelia._engine.core.dtype import as_dtype, from_numpy
from mycelia._engine.core.errors import problem
from mycelia._engine.core.process_groups import DEFAULT_WORLD_GROUP, world
from mycelia._engine.core.wait_registry import peer_wait
from mycelia._engine.runtime.distributed.multiprocess_jit import LostProcess
from mycelia.communication.environment import place
from mycelia.ops.collective.collective import AllGather
from mycelia.tensor.tensor import Tensor

_KEY = 32  # bytes
_CARD = 256  # bytes of the addresses that processes exchange at the start

Label = tuple[str, int, int]  # the group, the sender's rank in the world, the tag


class Mailbox:
    """The mailbox of this process, and its connections to the others."""

    def __init__(self) -> None:
        self._arrived: defaultdict[Label, deque[np.ndarray]] = defaultdict(deque)
        self._changed = threading.Condition()
        self._lost: set[int] = set()
        self._outgoing: dict[int, queue.SimpleQueue[Any]] = {}
        self._key = secrets.token_bytes(_KEY)
        self._cards: list[tuple[str, int, bytes]] = []
        self._listener: Listener | None = None

    def open(self, coordinator: str) -> None:
        """Listen, and exchange addresses with all other processes, which do the same."""
        host = _own_address(coordinator)
        self._listener = Listener((host, 0), authkey=self._key)
        port = self._listener.address[1]
        card = json.dumps([host, port, self._key.hex()]).encode().ljust(_CARD)
        mine = Tensor(np.frombuffer(card, np.uint8)[None].copy())
        every = AllGather.of(DEFAULT_WORLD_GROUP)(mine).asnumpy()
        read = [json.loads(bytes(row).decode()) for row in every]
        self._cards = [(host, port, bytes.fromhex(key)) for host, port, key in read]
        threading.Thread(target=self._accept, name="mail", daemon=True).start()

    def close(self) -> None:
        for line in self._outgoing.values():
            line.put(None)
        if self._listener is not None:
            self._listener.close()

    def send(self, label: Label, to: int, array: np.ndarray) -> threading.Event:
        """Send a message; the event is set when it is sent, or when sending failed."""
        done = threading.Event()
        if to == world().rank:
            self._put(label, array.copy())
            done.set()
            return done
        if to not in self._outgoing:
            self._outgoing[to] = queue.SimpleQueue()
            threading.Thread(target=self._carry, args=(to,), name="mail", daemon=True).start()
        header = json.dumps([*label, from_numpy(array.dtype).name, list(array.shape)]).encode()
        self._outgoing[to].put((header, array.tobytes(), done))
        return done

    def receive(self, label: Label) -> np.ndarray:
        """The oldest message with this label; waits if necessary."""
        sender = label[1]
        with peer_wait("recv", (sender,)), self._changed:
            while not self._arrived[label]:
                if sender == world().rank:
                    raise problem(
                        RuntimeError,
                        "irecv: a process cannot wait for a message from itself",
                        fix=f"send something with tag={label[2]} first",
                    )
                if sender in self._lost:
                    raise problem(
                        LostProcess,
                        f"recv: rank {sender} ended without sending the message",
                        got=f"nothing in the group {label[0]} with the tag {label[2]}",
                    )
                self._changed.wait()
            return self._arrived[label].popleft()

    def has(self, label: Label) -> bool:
        """Whether a message with this label has arrived."""
        with self._changed:
            return bool(self._arrived[label])

    def _put(self, label: Label, array: np.ndarray) -> None:
        with self._changed:
            self._arrived[label].append(array)
            self._changed.notify_all()

    def _carry(self, to: int) -> None:
        """Write the messages for one process, until the queue is closed."""
        host, port, key = self._cards[to]
        line = self._outgoing[to]
        try:
            with Client((host, port), authkey=key) as connection:
                connection.send_bytes(str(world().rank).encode())
                while (letter := line.get()) is not None:
                    header, body, done = letter
                    connection.send_bytes(header)
                    connection.send_bytes(body)
                    done.set()
        except (OSError, EOFError):  # the peer is gone; its end is detected elsewhere
            while not line.empty():
                if (letter := line.get()) is not None:
                    letter[2].set()

    def _accept(self) -> None:
        assert self._listener is not None
        while True:
            try:
                connection = self._listener.accept()
            except (OSError, EOFError):  # closed
                return
            threading.Thread(
                target=self._read, args=(connection,), name="mail", daemon=True
            ).start()

    def _read(self, connection: Connection[Any, Any]) -> None:
        """Read the messages of one process, until it ends."""
        sender = int(connection.recv_bytes().decode())
        try:
            while True:
                group, rank, tag, dtype, shape = json.loads(connection.recv_bytes())
                body = bytearray(connection.recv_bytes())
                array = np.frombuffer(body, as_dtype(dtype).numpy).reshape(shape)
                self._put((group, rank, tag), array)
        except (OSError, EOFError):
            with self._changed:
                self._lost.add(sender)
                self._changed.notify_all()


class _CurrentMailbox:
    mail: Mailbox = Mailbox()


def mail() -> Mailbox:
    """The mailbox of this process."""
    return _CurrentMailbox.mail


def open_mail() -> None:
    """Start receiving messages of other processes, if there are any."""
    here = place(os.environ)
    if here is not None and here.size > 1 and not _CurrentMailbox.mail._cards:
        _CurrentMailbox.mail.open(here.coordinator)


def close_mail() -> None:
    """Stop receiving messages; unread ones are lost."""
    _CurrentMailbox.mail.close()
    _CurrentMailbox.mail = Mailbox()


def _own_address(coordinator: str) -> str:
    """The address of this machine for others: that of its route to the coordinator."""
    host, _, port = coordinator.rpartition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, int(port)))
        return probe.getsockname()[0]
