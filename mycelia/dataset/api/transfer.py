"""The queue to the device: batches on their way before a step asks for them."""

from __future__ import annotations

from typing import Any

from mycelia.core.errors import problem
from mycelia.dataset.api.dataset import Dataset
from mycelia.dataset.api.iterators import TupleIterator
from mycelia.dataset.ir.node import Node


class TransferDataset(Dataset):
    """A dataset whose batches are moved to the device ahead of their use, once `send` began it."""

    def __init__(self, node: Node, send_epoch_end: bool, queue_name: str) -> None:
        super().__init__(node)
        self.queue_name = queue_name
        self._send_epoch_end = send_epoch_end
        self._sending: TupleIterator | None = None

    def send(self, num_epochs: int = -1) -> None:
        """Begin to move batches."""
        self.release()
        self._sending = self.create_tuple_iterator(num_epochs=num_epochs)

    def get_next(self) -> list[Any] | None:
        """The next batch, as tensors on the device; None at the end of an epoch."""
        if self._sending is None:
            raise problem(
                RuntimeError, "device_que: nothing is sent", fix="call `send` before `get_next`"
            )
        return next(self._sending, None)

    def stop_send(self) -> None:
        """Stop for now; `continue_send` goes on where it stopped."""
        if self._sending is not None:
            state = self._sending.state()
            self._sending.release()
            self._sending.restore(state)

    def continue_send(self) -> None:
        """Go on after `stop_send`."""

    def get_type_shapes(self) -> tuple[list[Any], list[Any]]:
        """The types and the shapes of a batch."""
        return self.output_types(), self.output_shapes()

    def release(self) -> None:
        """End the moving of batches."""
        if self._sending is not None:
            self._sending.release()
            self._sending = None
