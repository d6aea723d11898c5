"""`device_que`: prefetching batches to the device."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem
from mycelia.dataset.api.iterators import TupleIterator
from mycelia.dataset.api.readable import ReadableDataset


class DeviceTransfer(ReadableDataset):
    """Rows that are prefetched to the device after `send` is called."""

    queue_name = ""
    _sent: TupleIterator | None = None
    _stopped_at: dict[str, int] | None = None

    def send(self, num_epochs: int = -1) -> None:
        """Start to prefetch batches."""
        self.release()
        self._sent = self.create_tuple_iterator(num_epochs=num_epochs)

    def get_next(self) -> list[Any] | None:
        """The next batch, as tensors on the device; None at the end of an epoch."""
        if self._stopped_at is not None:
            raise problem(
                RuntimeError,
                "device_que: sending is stopped",
                fix="call `continue_send` before `get_next`",
            )
        return next(self._sending(), None)

    def stop_send(self) -> None:
        """Pause; `continue_send` resumes where it stopped."""
        if self._stopped_at is None:
            self._stopped_at = self._sending().state()
            self._sending().release()

    def continue_send(self) -> None:
        """Resume after `stop_send`."""
        if self._stopped_at is not None:
            self._sending().restore(self._stopped_at)
            self._stopped_at = None

    def _sending(self) -> TupleIterator:
        if self._sent is None:
            raise problem(
                RuntimeError, "device_que: sending has not started", fix="call `send` first"
            )
        return self._sent

    def get_type_shapes(self) -> tuple[list[Any], list[Any]]:
        """The types and shapes of a batch."""
        return self.output_types(), self.output_shapes()

    def release(self) -> None:
        """Stop prefetching and end its threads."""
        if self._sent is not None:
            self._sent.release()
        self._sent = self._stopped_at = None
