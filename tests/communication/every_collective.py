"""Run in each of several processes: collectives, groups, messages and gradients against numpy.

Every process knows what all of them hold, so each works out by itself what it must get.
"""

from __future__ import annotations

import time

import numpy as np

import mycelia as ms
from mycelia import Tensor, communication, ops
from mycelia.communication import comm_func

ms.set_context(mode=ms.PYNATIVE_MODE, device_target="CPU")  # before init, as scripts do
communication.init()
RANK, SIZE = communication.get_rank(), communication.get_group_size()
EVERYONE = list(range(SIZE))


def held(rank: int, shape: tuple[int, ...], dtype: type = np.float32) -> np.ndarray:
    """What a process has: every process can work it out."""
    return (np.random.default_rng(rank).normal(size=shape) * 3).astype(dtype)


def near(found: Tensor, wanted: np.ndarray, what: str) -> None:
    assert found.shape == wanted.shape, (what, RANK, found.shape, wanted.shape)
    np.testing.assert_allclose(
        found.asnumpy(), wanted, rtol=1e-5, atol=1e-5, err_msg=f"{what}, rank {RANK}"
    )


SHAPE = (4 * SIZE, 3)
ALL = [held(rank, SHAPE) for rank in EVERYONE]
STACKED = np.stack(ALL)
WAYS = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod, "avg": np.mean}
if SIZE > 2:  # four processes share what processors there are: the rest is as for two
    WAYS = {"sum": np.sum}


def rows(whole: np.ndarray, rank: int, count: int) -> np.ndarray:
    return np.split(whole, count)[rank]


def only(there: int, x: np.ndarray) -> np.ndarray:
    return x if there == RANK else np.zeros_like(x)


def swapped_blocks(split: int, joined: int) -> np.ndarray:
    return np.concatenate([np.split(x, SIZE, split)[RANK] for x in ALL], joined)


LAST = SIZE - 1
CASES = {
    **{f"AllReduce {w}": (ops.AllReduce(w), f(STACKED, 0)) for w, f in WAYS.items()},
    **{
        f"ReduceScatter {w}": (ops.ReduceScatter(w), rows(f(STACKED, 0), RANK, SIZE))
        for w, f in WAYS.items()
    },
    **{f"Reduce {w}": (ops.Reduce(LAST, w), only(LAST, f(STACKED, 0))) for w, f in WAYS.items()},
    "AllGather": (ops.AllGather(), np.concatenate(ALL)),
    "CollectiveGather": (ops.CollectiveGather(1), only(1, np.concatenate(ALL))),
    "CollectiveScatter": (ops.CollectiveScatter(1), rows(ALL[1], RANK, SIZE)),
    "Broadcast": (lambda x: ops.Broadcast(LAST)((x,))[0], ALL[LAST]),
    "AlltoAll": (ops.AlltoAll(SIZE, 0, 1), swapped_blocks(0, 1)),
    "AlltoAll same axis": (ops.AlltoAll(SIZE, 0, 0), swapped_blocks(0, 0)),
}


def values_and_gradients() -> None:
    """Each operator, eagerly and in one program, and its gradient: that of the sum of all losses."""
    x = Tensor(ALL[RANK])
    weights = {name: Tensor(held(100 + RANK, wanted.shape)) for name, (_, wanted) in CASES.items()}

    def result(x, name):
        found = CASES[name][0](x)
        return (found * weights[name]).sum(), found

    def both(x, name):
        return ms.value_and_grad(lambda x: result(x, name), has_aux=True)(x)

    together = ms.jit(lambda x: tuple([both(x, name) for name in CASES]))(x)
    for (name, (_, wanted)), compiled in zip(CASES.items(), together, strict=True):
        gradient = expected_gradient(name, wanted.shape)
        for way, found in (("eager", both(x, name)), ("compiled", compiled)):
            near(found[0][1], wanted, f"{name} {way}")
            near(found[1], gradient, f"gradient of {name} {way}")


def expected_gradient(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The gradient, worked out from what all processes hold."""
    weights = [held(100 + rank, shape) for rank in EVERYONE]
    kind, _, way = name.partition(" ")
    per = weighted_reductions(way) if way in WAYS else None
    if kind == "AllReduce":
        return sum(weights) * per
    if kind == "ReduceScatter":
        return np.concatenate(weights) * per
    if kind == "Reduce":
        return weights[LAST] * per
    if kind == "AllGather":
        return rows(sum(weights), RANK, SIZE)
    if kind == "CollectiveGather":
        return rows(weights[1], RANK, SIZE)
    if kind == "CollectiveScatter":
        return only(1, np.concatenate(weights))
    if kind == "Broadcast":
        return only(LAST, sum(weights))
    split, joined = 0, (0 if way == "same axis" else 1)
    return np.concatenate([np.split(w, SIZE, joined)[RANK] for w in weights], split)


def weighted_reductions(way: str) -> np.ndarray:
    """How a reduction changes with the numbers of this process."""
    mine = ALL[RANK]
    if way == "sum":
        return np.ones_like(mine)
    if way == "avg":
        return np.full_like(mine, 1 / SIZE)
    if way == "prod":
        return np.prod(np.stack([x for r, x in enumerate(ALL) if r != RANK]), 0)
    return (mine == WAYS[way](STACKED, 0)).astype(np.float32)


def kinds_of_numbers() -> None:
    """Other dtypes, numbers without axes, empty tensors."""
    more = (np.float64, np.int8, np.int32, np.int64, np.uint8, np.complex64) if SIZE == 2 else ()
    for dtype in (np.float16, *more):
        mine = [(np.arange(4) + r).astype(dtype) for r in EVERYONE]
        near(ops.AllReduce()(Tensor(mine[RANK])), sum(mine), str(dtype))
        near(ops.AllGather()(Tensor(mine[RANK])), np.concatenate(mine), str(dtype))
        assert ops.AllReduce()(Tensor(mine[RANK])).dtype == Tensor(mine[RANK]).dtype
    flags = [np.array([r == 0, True, False]) for r in EVERYONE]
    near(ops.AllReduce("sum")(Tensor(flags[RANK])), np.array([True, True, False]), "bool sum")
    near(ops.AllReduce("prod")(Tensor(flags[RANK])), np.array([False, True, False]), "bool prod")
    near(ops.AllReduce()(Tensor(np.float32(RANK))), np.float32(sum(EVERYONE)), "a number")
    near(ms.jit(ops.AllReduce())(Tensor(np.float32(RANK))), np.float32(sum(EVERYONE)), "a number")
    constant = Tensor(np.full(3, RANK, np.float32))
    near(
        ms.jit(lambda: ops.AllReduce()(constant * 2))(), np.full(3, 2.0 * sum(EVERYONE)), "constant"
    )

    def needs_python(x):
        total = ops.AllReduce()(x)
        return ops.AllReduce()(Tensor(np.ones(int(total.asnumpy()), np.float32)))

    near(ms.jit(needs_python)(Tensor(np.float32(1))), np.full(SIZE, SIZE), "numbers in Python")
    near(ops.AllReduce()(Tensor(np.zeros((0, 2), np.float32))), np.zeros((0, 2)), "empty")


def groups() -> None:
    """Groups of neighbours, in another order, of one, and of all but one."""
    pair = [RANK - RANK % 2, RANK - RANK % 2 + 1]
    communication.create_group(f"pair{pair[0]}", pair[::-1])
    mine = f"pair{pair[0]}"
    assert communication.get_rank(mine) == 1 - RANK % 2
    assert communication.get_world_rank_from_group_rank(mine, 0) == pair[1]
    near(ops.AllGather(mine)(Tensor(ALL[RANK])), np.concatenate([ALL[r] for r in pair[::-1]]), mine)
    near(ops.Broadcast(0, mine)((Tensor(ALL[RANK]),))[0], ALL[pair[1]], "broadcast in a pair")
    both = ms.jit(lambda x: (ops.AllReduce("sum", mine)(x), ops.AllReduce()(x)))(Tensor(ALL[RANK]))
    near(both[0], sum(ALL[r] for r in pair), "pair in a program")
    near(both[1], sum(ALL), "all in the same program")
    communication.create_group(f"own{RANK}", [RANK])
    near(ops.AllReduce("sum", f"own{RANK}")(Tensor(ALL[RANK])), ALL[RANK], "group of one")
    if SIZE > 2:
        unequal_groups()
    communication.destroy_group(mine)


def unequal_groups() -> None:
    """All but the last: in a program with all of them XLA's groups are not of one size."""
    communication.create_group("most", EVERYONE[:-1])
    some = SIZE - 1
    x = held(RANK, (some * 2, 3))
    every = [held(r, x.shape) for r in EVERYONE]
    if RANK == LAST:
        try:
            ops.AllReduce("sum", "most")(Tensor(x))
        except RuntimeError as error:
            assert "is not in the group" in str(error)
        else:
            raise AssertionError("a process used a group that it is not in")
        ms.jit(lambda x: ops.AllReduce()(x))(Tensor(x))
        return

    def program(x):
        return (
            ops.AllGather("most")(x),
            ops.ReduceScatter("max", "most")(x),
            ops.AlltoAll(some, 0, 1, "most")(x),
            ops.AllReduce()(x),
        )

    gathered, scattered, exchanged, total = ms.jit(program)(Tensor(x))
    near(gathered, np.concatenate(every[:-1]), "most gathered")
    near(scattered, rows(np.max(every[:-1], 0), RANK, some), "most scattered")
    near(
        exchanged, np.concatenate([np.split(e, some)[RANK] for e in every[:-1]], 1), "most swapped"
    )
    near(total, sum(every), "all besides most")


def neighbours() -> None:
    """A ring in which everybody sends two rows to the right and one to the left."""
    left, right = (RANK - 1) % SIZE, (RANK + 1) % SIZE

    def exchange(a, b):
        return ops.NeighborExchange(
            [right, left], [left, right], ([2, 3], [1, 3]), ([2, 3], [1, 3]), ms.float32
        )((a, b))

    a, b = Tensor(ALL[RANK][:2]), Tensor(ALL[RANK][:1])
    for run in (exchange, ms.jit(exchange)):
        from_left, from_right = run(a, b)
        near(from_left, ALL[left][:2], "from the left")
        near(from_right, ALL[right][:1], "from the right")
    gradient = ms.grad(lambda a: (exchange(a, b)[0] * (RANK + 1.0)).sum())(a)
    near(gradient, np.full((2, 3), right + 1.0), "gradient of the exchange")
    shapes = [(r + 1, 2) for r in EVERYONE]
    parts, _ = comm_func.all_to_all_with_output_shape(
        [(RANK + 1, 2)] * SIZE, [Tensor(np.full(s, RANK * 10 + r)) for r, s in enumerate(shapes)]
    )
    for sender, part in enumerate(parts):
        near(part, np.full((RANK + 1, 2), sender * 10 + RANK), "all to all")
    out, _ = comm_func.all_to_all_single_with_output_shape((SIZE, 3), Tensor(ALL[RANK][:SIZE]))
    near(out, np.stack([x[RANK] for x in ALL]), "all to all of rows")
    counts = np.add.outer(np.arange(SIZE), np.arange(SIZE)) + 1
    received = Tensor(np.zeros(counts[:, RANK].sum(), np.float32))
    sent = np.repeat(np.float32(RANK), counts[RANK].sum())
    comm_func.all_to_all_v_c(received, Tensor(sent), counts.ravel().tolist())
    near(received, np.repeat(np.arange(SIZE, dtype=np.float32), counts[:, RANK]), "counts")


def send_and_receive() -> None:
    """Operators between two, their gradients, and messages that need nobody to wait."""
    x = Tensor(ALL[0])
    if RANK == 0:
        near(ops.Send(0, 1)(x), ALL[0], "sent")
        gradient = ms.grad(lambda x: ops.Send(0, 1)(x * 2.0).sum() * 0.0)(x)
        near(gradient, ALL[1] * 2, "gradient that came back")
        gradient = ms.jit(ms.grad(lambda x: ops.Send(0, 1)(x * 2.0).sum() * 0.0))(x)
        near(gradient, ALL[1] * 2, "gradient that came back to a program")
    elif RANK == 1:
        receive = ops.Receive(0, 0, list(SHAPE), ms.float32)
        near(receive(), ALL[0], "received")
        for make in (lambda f: f, ms.jit):
            loss = make(ms.value_and_grad(lambda a: (receive(a) * Tensor(ALL[1])).sum()))
            value, gradient = loss(Tensor(1.0))
            np.testing.assert_allclose(value.asnumpy(), (ALL[0] * 2 * ALL[1]).sum(), rtol=1e-4)
            assert gradient.asnumpy() == 0
    left, right = (RANK - 1) % SIZE, (RANK + 1) % SIZE
    like = Tensor(np.zeros(SHAPE, np.float32))
    first, one = comm_func.irecv(like, left, tag=7)  # before anybody sent
    second, two = comm_func.irecv(like, left, tag=7)
    comm_func.isend(Tensor(ALL[RANK]), right, tag=7)
    comm_func.send(Tensor(ALL[RANK] + 1), right, tag=7)
    two.wait()
    assert one.is_completed()
    near(first, ALL[left], "first message")
    near(second, ALL[left] + 1, "second message")
    got, _ = comm_func.batch_isend_irecv(
        [
            comm_func.P2POp("irecv", SHAPE, left, recv_dtype=ms.float32),
            comm_func.P2POp("isend", Tensor(ALL[RANK]), right),
        ]
    )
    near(got, ALL[left], "batch of messages")


def functions() -> None:
    """The functions of comm_func."""
    x = Tensor(ALL[RANK])
    total, handle = comm_func.all_reduce(x, async_op=True)
    handle.wait()
    near(total, sum(ALL), "all_reduce")
    near(comm_func.all_gather_into_tensor(x)[0], np.concatenate(ALL), "all_gather")
    near(comm_func.reduce_scatter_tensor(x)[0], rows(sum(ALL), RANK, SIZE), "reduce_scatter")
    near(comm_func.broadcast(x, 1), ALL[1], "broadcast")
    near(comm_func.scatter_tensor(x, 1), rows(ALL[1], RANK, SIZE), "scatter")
    near(comm_func.gather_into_tensor(x, 1), only(1, np.concatenate(ALL)), "gather")
    near(comm_func.reduce(x, 1), only(1, sum(ALL)), "reduce")
    comm_func.barrier()


def training() -> None:
    """Data parallel steps give the parameters that one process with the whole batch gets."""
    ms.set_context(mode=ms.GRAPH_MODE)
    random = np.random.default_rng(3)
    data, target = random.normal(size=(8 * SIZE, 5)), random.normal(size=(8 * SIZE, 1))

    def trained(parts: int, part: int, reduce: bool) -> list[np.ndarray]:
        ms.set_seed(1)
        net = ms.nn.SequentialCell(ms.nn.Dense(5, 4), ms.nn.Tanh(), ms.nn.Dense(4, 1))
        optimizer = ms.nn.Momentum(net.trainable_params(), 0.1, 0.9)
        criterion = ms.nn.MSELoss()
        gradients = ms.value_and_grad(lambda x, y: criterion(net(x), y), None, optimizer.parameters)
        reducer = ms.nn.DistributedGradReducer(optimizer.parameters, mean=True)

        @ms.jit
        def step(x, y):
            loss, found = gradients(x, y)
            optimizer(reducer(found) if reduce else found)
            return loss

        mine = slice(part * len(data) // parts, (part + 1) * len(data) // parts)
        for _ in range(4):
            step(Tensor(data[mine], ms.float32), Tensor(target[mine], ms.float32))
        return [p.asnumpy() for p in net.trainable_params()]

    for together, alone in zip(trained(SIZE, RANK, True), trained(1, 0, False), strict=True):
        np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-6)


CHECKS = [values_and_gradients, kinds_of_numbers, groups, neighbours, send_and_receive, training]
for check in [*CHECKS, functions] if SIZE == 2 else CHECKS:
    began = time.perf_counter()
    check()
    print(f"{check.__name__}: right ({time.perf_counter() - began:.1f} s)", flush=True)
communication.release()
