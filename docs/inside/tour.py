"""Mycelia from scratch: the core idea of the framework, rebuilt in one file.

The idea: an operator holds all its facts in one place. Eager mode calls operators one at a time.
Graph mode interprets Python source with symbolic tensors, which makes a graph of the same
operators. A gradient is another such graph, rewrite rules simplify it, and XLA compiles it whole.

Run it with `python docs/inside/tour.py`; it needs numpy and jax, and nothing of Mycelia itself.
The comment below a `print` is its output. Remarks in parentheses are about the real project.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial, update_wrapper
from operator import itemgetter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]  # float64 throughout


# ==== 1. Tensors and operators ====================================================================
# A tensor wraps data: an array for now, and a node of a graph from section 3 on. Both have a type.
@dataclass(frozen=True)
class Type:
    """The dtype and shape of a tensor, printed as `f64[2,3]`."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def __repr__(self) -> str:
        dtype = self.dtype.name.replace("float", "f").replace("int", "i")
        return f"{dtype}[{','.join(map(str, self.shape))}]"


def type_of(value: Any) -> Any:
    """The type of a tensor, a node, an array, or a number."""
    return value.type if hasattr(value, "type") else Type(np.asarray(value).dtype, np.shape(value))


@dataclass(frozen=True, eq=False)
class Tensor(np.lib.mixins.NDArrayOperatorsMixin):
    """What users hold. The mixin turns Python's arithmetic into calls of `__array_ufunc__`."""

    data: Any
    type = property(lambda self: type_of(self.data))
    shape = property(lambda self: self.type.shape)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **out: Any) -> Any:
        """Call an operator. A number follows the dtype of tensors, and is spread to their shape."""
        dtypes = [x.type.dtype for x in inputs if isinstance(x, Tensor)]
        xs = [x if isinstance(x, Tensor) else tensor(x, np.result_type(x, *dtypes)) for x in inputs]
        shape = max((x.shape for x in xs), key=len)
        return ARITHMETIC[ufunc](*[x if x.shape or not shape else spread(shape)(x) for x in xs])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.data, dtype)

    def __bool__(self) -> bool:
        return bool(np.asarray(self))


def tensor(value: Any, dtype: Any = None) -> Tensor:
    return Tensor(np.asarray(value, dtype))


# An operator is a value that holds all its facts:
# - `infer` maps types to a type, and raises the errors that users see;
# - `lower` maps arrays to an array, and is the only fact that involves jax;
# - `grad` maps inputs, output and output gradient to input gradients. It is plain Python with the
#   same operators, so a gradient can be traced, compiled, and differentiated again.
# A call of an operator goes to the active handler. The first handler runs it at once: eager mode.
# Section 3 adds a handler that builds a graph instead.
class Function:
    """An operator or, in section 2, a graph. A function is its own type: it has an `infer`."""

    type = property(lambda self: self)

    def __call__(self, *args: Any) -> Any:
        return HANDLERS[-1](self, args)


@dataclass(frozen=True)
class Operator(Function):
    """A function that the framework knows. `static` holds values such as a shape or an index."""

    name: str
    infer: Callable[..., Any]
    lower: Callable[..., Any]
    grad: Callable[..., Sequence[Any]] = lambda *args: [None] * len(args[2:])
    static: Any = None

    def __str__(self) -> str:
        return self.name if self.static is None else f"{self.name}[{self.static}]"


def run_eagerly(fn: Any, args: Sequence[Tensor]) -> Any:
    """The result of one call. (The real project caches an XLA program for each operator.)"""
    fn.infer(*map(type_of, args))
    return jax.tree.map(Tensor, fn.lower(*[a.data for a in args]))


def elementwise(*types: Type) -> Type:
    if len({t.shape for t in types}) > 1:
        raise ValueError(f"the shapes of {types} differ")
    return Type(np.result_type(*[t.dtype for t in types]), types[0].shape)


@cache  # one operator for each shape, so that equal operators are the same object
def spread(shape: tuple[int, ...]) -> Operator:
    """Repeats a number."""
    infer, lower = partial(replace, shape=shape), partial(jnp.broadcast_to, shape=shape)
    return Operator("Spread", infer, lower, lambda x, out, d: [total(d)], shape)


total = Operator("Sum", partial(replace, shape=()), jnp.sum, lambda x, out, d: [spread(x.shape)(d)])
add = Operator("Add", elementwise, jnp.add, lambda x, y, out, d: [d, d])
mul = Operator("Mul", elementwise, jnp.multiply, lambda x, y, out, d: [d * y, d * x])
neg = Operator("Neg", elementwise, jnp.negative, lambda x, out, d: [-d])
tanh = Operator("Tanh", elementwise, jnp.tanh, lambda x, out, d: [d - d * out * out])
less = Operator("Less", lambda *t: replace(elementwise(*t), dtype=np.dtype(bool)), jnp.less)
HANDLERS: list[Callable[[Any, Sequence[Any]], Any]] = [run_eagerly]  # the last one is active
ARITHMETIC: dict[Any, Any] = {np.add: add, np.multiply: mul, np.negative: neg, np.less: less}
ARITHMETIC |= {np.subtract: lambda x, y: x + neg(y), np.greater: lambda x, y: less(y, x)}

pair = tensor([1.0, 2.0])
print(np.asarray(pair * 10.0 + pair).tolist(), add.infer(pair.type, pair.type))
# [11.0, 22.0] f64[2]


# ==== 2. The graph IR =============================================================================
# A graph is a function: parameters, and a node that is its output. There are three kinds of nodes:
# an input (`Parameter`), a value that is known when the graph is built (`Constant`), and a function
# applied to arguments (`Apply`). Three decisions make this small IR general:
# - the function of an `Apply` is a node, so higher-order functions need no construct of their own;
# - a node may use a node of an enclosing graph, so closures need none either;
# - a graph is a value that a `Constant` can hold, so a function is passed like a number.
# Nodes never change. A graph is what its output needs, so there is no dead code to remove.
@dataclass(frozen=True, eq=False)
class Node:
    """A value of a graph. Two nodes are equal only if they are the same node."""

    type: Any = field(kw_only=True)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError("a symbolic tensor has no numbers: they exist when the program runs")


@dataclass(frozen=True, eq=False)
class Parameter(Node):
    name: str
    graph: Graph


@dataclass(frozen=True, eq=False)
class Constant(Node):
    value: Any


@dataclass(frozen=True, eq=False)
class Apply(Node):
    fn: Node
    args: tuple[Node, ...]
    graph: Graph


@dataclass(eq=False)
class Graph(Function):
    """A named function made of nodes. It has `infer` and `lower` like an operator."""

    name: str
    parameters: list[Parameter] = field(default_factory=list)
    output: Any = None

    def parameter(self, name: str, type: Any = None) -> Parameter:
        self.parameters.append(Parameter(name, self, type=type))
        return self.parameters[-1]

    def apply(self, fn: Any, *args: Any) -> Apply:
        """A node that applies `fn`; plain values become constants."""
        head, *nodes = [v if isinstance(v, Node) else constant(v) for v in (fn, *args)]
        type = head.type.infer(*map(type_of, nodes)) if head.type else None
        return Apply(head, tuple(nodes), self, type=type)

    def infer(self, *types: Any) -> Any:
        return self.output.type

    def lower(self, *arrays: Any, outer: Any = ()) -> Any:
        """What a graph means: an operator is its `lower`, a graph is a Python function."""
        values: dict[Node, Any] = dict(outer) | dict(zip(self.parameters, arrays, strict=True))

        def value(node: Node) -> Any:
            if node not in values:
                match node:
                    case Apply(fn=fn, args=args):
                        values[node] = value(fn)(*map(value, args))
                    case Constant(value=Graph() as inner):
                        values[node] = partial(inner.lower, outer=values)
                    case Constant(value=known):
                        values[node] = known.lower if isinstance(known, Operator) else known
            return values[node]

        return value(self.output)

    def applies(self) -> list[Apply]:
        """The applications in the body, inputs first."""
        order: dict[Apply, None] = {}

        def visit(node: Node) -> None:
            if isinstance(node, Apply) and node.graph is self and node not in order:
                list(map(visit, (node.fn, *node.args)))
                order[node] = None

        visit(self.output)
        return list(order)

    def __str__(self) -> str:
        names = {node: f"%{number}" for number, node in enumerate(self.applies(), start=1)}

        def name(node: Any) -> str:
            if isinstance(node, Constant):
                return f"@{node.value.name}" if isinstance(node.value, Graph) else str(node.value)
            return node.name if isinstance(node, Parameter) else names[node]

        rows = [f"graph {self.name}({', '.join(f'{p.name}: {p.type}' for p in self.parameters)}):"]
        for node in names:
            arguments = ", ".join(map(name, node.args))
            rows.append(f"  {name(node)}: {node.type} = {name(node.fn)}({arguments})")
        inner = [str(a.type) for node in names for a in node.args if isinstance(a.type, Graph)]
        return "\n".join([*rows, f"  return {name(self.output)}", *inner])


def constant(value: Any) -> Constant:
    data = value if isinstance(value, Function) else np.asarray(value)
    return Constant(data, type=type_of(data))


# twice(f, a) = f(f(a)) is a higher-order function; plus_y(b) = b + y is a closure in main(x, y).
twice, plus_y, main = Graph("twice"), Graph("plus_y"), Graph("main")
p, q = twice.parameter("f"), twice.parameter("a")
twice.output = twice.apply(p, twice.apply(p, q))
p, q = main.parameter("x", type_of(0.0)), main.parameter("y", type_of(0.0))
plus_y.output = plus_y.apply(add, plus_y.parameter("b", p.type), q)
main.output = main.apply(twice, plus_y, p)
assert main.lower(1.0, 10.0) == 21.0


# ==== 3. Tracing ==================================================================================
# A second handler builds graphs: while it is active, calling an operator adds a node, and the
# result is a tensor whose data is that node. Such a tensor is symbolic: its type is known, its
# numbers are not. Graphs that are built this way are closed: a value of an outer graph comes in as
# one more parameter, so that gradients and programs see everything a graph uses.
@dataclass(eq=False)
class Builder(Graph):
    """A graph under construction."""

    captured: dict[Node, Parameter] = field(default_factory=dict)

    def build(self, fn: Callable[..., Any], *args: Any) -> Builder:
        """Call `fn`: the operators that it calls become nodes, and its result the output."""
        HANDLERS.append(self.handle)
        try:
            self.output = self.local(fn(*args))
        finally:
            HANDLERS.pop()
        return self

    def handle(self, fn: Any, args: Sequence[Any]) -> Any:
        node = self.apply(fn, *map(self.local, args))
        if not isinstance(node.type, tuple):
            return Tensor(node)
        return tuple(Tensor(self.apply(item(i), node)) for i in range(len(node.type)))

    def local(self, value: Any) -> Any:
        """A tensor, a number, a function, or a (nested) tuple of these as a node of this graph."""
        if isinstance(value, tuple):
            return self.apply(pack, *map(self.local, jax.tree.leaves(value)))
        data = value.data if isinstance(value, Tensor) else value
        node: Any = data if isinstance(data, Node) else constant(data)
        if isinstance(node, Constant) or node.graph is self:
            return node
        if node not in self.captured:
            self.captured[node] = Parameter(f"outer{len(self.captured)}", self, type=node.type)
        return self.captured[node]


def close(*graphs: Builder) -> list[Tensor]:
    """Give all graphs parameters for what any of them captured, and return the captured values."""
    outside = [Tensor(n) for n in dict.fromkeys(node for g in graphs for node in g.captured)]
    for graph in graphs:
        graph.parameters += map(graph.local, outside)
    return outside


# Control flow is two operators that take graphs; their `lower` receives these as Python functions.
# Two more operators make tuples and take them apart.
def run_loop(test: Any, step: Any, carry: Any, *fixed: Any) -> Any:
    return jax.lax.while_loop(lambda c: test(*c, *fixed), lambda c: step(*c, *fixed), carry)


def switch(condition: Any, on_true: Callable[[], Any], on_false: Callable[[], Any]) -> Any:
    """Trace both sides. The program chooses."""
    sides = Builder("on_true").build(on_true), Builder("on_false").build(on_false)
    operands = close(*sides)
    return choose(condition, *sides, *operands)


def while_loop(test: Callable[..., Any], step: Callable[..., Any], carry: Any) -> Any:
    """Trace test and step once, as functions of the carry. The program repeats them."""
    leaves, structure = jax.tree.flatten(carry)
    graphs = Builder("test"), Builder("step")
    for graph, fn in zip(graphs, (test, step)):
        inputs = [graph.parameter(f"c{i}", type_of(leaf)) for i, leaf in enumerate(leaves)]
        graph.build(fn, *jax.tree.unflatten(structure, map(Tensor, inputs)))
    fixed = close(*graphs)
    return jax.tree.unflatten(structure, repeat(*graphs, carry, *fixed))


@cache
def item(index: int) -> Operator:
    def grad(parts: Any, out: Any, d: Any) -> Any:
        return [tuple(d if i == index else None for i in range(len(parts)))]

    return Operator("Item", itemgetter(index), itemgetter(index), grad, index)


def switch_grad(condition: Any, on_true: Any, on_false: Any, *rest: Any) -> Sequence[Any]:
    """Another switch. Its sides repeat the forward computation and differentiate it (section 4)."""
    *inputs, _, d = rest  # (the real project saves the values needed, the residuals, instead)
    sides = [lambda g=g: filled(vjp(g, inputs)[1](d), inputs) for g in (on_true, on_false)]
    return [None, None, None, *switch(condition, *sides)]


pack = Operator("Tuple", lambda *types: types, lambda *arrays: arrays, lambda *args: args[-1])
choose = Operator("Switch", lambda _, side, *rest: side.output.type, jax.lax.cond, switch_grad)
repeat = Operator("While", lambda test, step, *rest: step.output.type, run_loop)


# The tracer interprets the source of a function, and meets two kinds of values:
# - A compile-time value is anything but a symbolic tensor: a number, a string, a shape, a function.
#   Python computes with it during tracing, and it leaves no node behind.
# - A runtime value is a symbolic tensor. Only the running program has its numbers.
# An `if` on a compile-time value is decided during tracing. An `if` on a runtime value is traced on
# both sides, and a switch joins the variables that they assign. A `while` is traced once, with the
# variables that it assigns as its carry. All other code is left to Python. (The real tracer
# interprets nearly every statement, allows `return` in a branch, and tracks changes of objects.)
class Frame(dict[str, Any]):
    """One call of a function: the values of all names that it sees."""

    def python(self, node: Any) -> Any:
        """Let Python execute a statement or evaluate an expression, that of a `return` too."""
        node = node.value if isinstance(node, ast.Return) else node
        if isinstance(node, ast.expr):
            return eval(compile(ast.Expression(node), "<tour>", "eval"), self)
        return exec(compile(ast.Module([node], []), "<tour>", "exec"), self)

    def block(self, statements: Sequence[ast.stmt]) -> Any:
        """Run statements up to a `return`, which gives the result."""
        control: dict[type, Any] = {ast.If: self.branch, ast.While: self.loop}
        for node in statements:
            result = control.get(type(node), self.python)(node)
            if result is not None:
                return result

    def after(self, statements: Sequence[ast.stmt], names: Sequence[str], *values: Any) -> Any:
        """The values of some names after statements that start with these values of them."""
        frame = Frame(self | dict(zip(names, values)))
        if frame.block(statements) is not None:
            raise SyntaxError("`return` inside of an `if` or `while` on a runtime value")
        return tuple(frame[name] for name in names)

    def branch(self, node: ast.If) -> Any:
        condition = self.python(node.test)
        if not isinstance(condition, Tensor):
            return self.block(node.body if condition else node.orelse)
        yes, no = assigned(node.body), assigned(node.orelse)
        names = sorted(name for name in yes | no if name in self or name in yes & no)
        sides = [partial(self.after, side, names) for side in (node.body, node.orelse)]
        self.update(zip(names, switch(condition, *sides)))

    def loop(self, node: ast.While) -> None:
        own = sorted(name for name in assigned(node.body) if name in self)
        step, start = partial(self.after, node.body, own), tuple(self[name] for name in own)
        end = while_loop(lambda *v: Frame(self | dict(zip(own, v))).python(node.test), step, start)
        self.update(zip(own, end))


def assigned(statements: Sequence[ast.stmt]) -> set[str]:
    """The names that statements assign."""
    nodes = [n for s in statements for n in ast.walk(s) if isinstance(n, ast.Name)]
    return {n.id for n in nodes if isinstance(n.ctx, ast.Store)}


def call(fn: Any, *args: Any) -> Any:
    """Call `fn` during tracing: plain Python functions are interpreted, others run as they are."""
    if not inspect.isfunction(fn):
        return fn(*args)
    definition: Any = ast.parse(textwrap.dedent(inspect.getsource(fn))).body[0]
    given = dict(zip(inspect.signature(fn).parameters, args, strict=True))
    known = fn.__globals__ | dict(inspect.getclosurevars(fn).nonlocals) | given
    plain = {name: f for name, f in known.items() if inspect.isfunction(f)}
    known |= {name: update_wrapper(partial(call, f), f) for name, f in plain.items()}
    unset = assigned(definition.body) - given.keys()
    return Frame({n: v for n, v in known.items() if n not in unset}).block(definition.body)


def trace(fn: Any, *args: Any) -> tuple[Graph, list[Tensor]]:
    """The graph of `fn`, and the values of outer graphs it captured. A type stands for a tensor."""
    graph = Builder(fn.__name__)
    pairs = zip(inspect.signature(fn).parameters, args)
    known = [Tensor(graph.parameter(n, a)) if isinstance(a, Type) else a for n, a in pairs]
    return graph.build(partial(call, fn), *known), close(graph)


def power(x: Any, n: int) -> Any:
    if n == 0:  # a compile-time value: the graph holds three multiplications and no recursion
        return 1.0
    return x * power(x, n - 1)


def leaky(x: Any) -> Any:
    if x > 0.0:  # a runtime value: the graph has both sides
        y = x * x
    else:
        y = x * 0.1
    return y


def reciprocal(a: Any) -> Any:  # 1 / a by Newton's method, which needs no division
    guess, error = 0.1, 1.0
    while error * error > 1e-24:
        error = 1.0 - a * guess
        guess = guess + guess * error
    return guess


two = tensor(2.0)
assert len(trace(power, two.type, 3)[0].applies()) == 3
for fn in (leaky, reciprocal):
    assert np.isclose(trace(fn, two.type)[0](two), fn(two))  # eagerly, Python decides and repeats
print(trace(leaky, two.type)[0])
# graph leaky(x: f64[]):
#   %1: bool[] = Less(0.0, x)
#   %2: (f64[],) = Switch(%1, @on_true, @on_false, x)
#   %3: f64[] = Item[0](%2)
#   return %3
# graph on_true(outer0: f64[]):
#   %1: f64[] = Mul(outer0, outer0)
#   %2: (f64[],) = Tuple(%1)
#   return %2
# graph on_false(outer0: f64[]):
#   %1: f64[] = Mul(outer0, 0.1)
#   %2: (f64[],) = Tuple(%1)
#   return %2


# ==== 4. Gradients ================================================================================
# The gradient of a graph is a graph. `vjp` copies a graph node by node into the one being built,
# and remembers a pullback of each node, from the gradient of its output to those of its inputs.
# Called in reverse order, the pullbacks call the operators' `grad`, which adds the backward pass to
# the same graph. The result is a graph like any other, so it can be differentiated again.
def vjp(graph: Graph, args: Sequence[Any]) -> tuple[Any, Any]:
    """The output of a closed graph, and its pullback to the parameters."""
    values: dict[Node, Any] = dict(zip(graph.parameters, args, strict=True))
    pullbacks: list[tuple[Apply, Any]] = []

    def value(node: Node) -> Any:
        is_function = isinstance(node.type, Function)
        return values[node] if node in values else node.type if is_function else Tensor(node)

    for node in graph.applies():
        fn, inputs = value(node.fn), list(map(value, node.args))
        if fn is repeat:
            values[node], pullback = differentiate_loop(*inputs)
        elif isinstance(fn, Graph):
            values[node], pullback = vjp(fn, inputs)
        else:
            values[node] = out = fn(*inputs)
            pullback = partial(fn.grad, *inputs, out)
        pullbacks.append((node, pullback))

    def pull(dout: Any) -> list[Any]:
        gradients: dict[Node, Any] = {graph.output: dout}
        for node, pullback in reversed(pullbacks):
            if gradients.get(node) is not None:
                for arg, gradient in zip(node.args, pullback(gradients[node])):
                    gradients[arg] = plus(gradients.get(arg), gradient)
        return [gradients.get(p) for p in graph.parameters]

    return value(graph.output), pull


def plus(x: Any, y: Any) -> Any:
    """The sum of two gradients; None stands for zero."""
    if x is None or y is None:
        return y if x is None else x
    return tuple(map(plus, x, y)) if isinstance(x, tuple) else x + y


def filled(gradients: Sequence[Any], values: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Gradients with zeros in place of None."""
    return tuple(spread(v.shape)(0.0) if g is None else g for g, v in zip(gradients, values))


# The gradient of a loop needs the carry of every pass, last pass first. So the forward loop counts
# the passes and pushes each carry on a stack, and the backward loop pops them. XLA fixes all sizes,
# so stacks have a capacity; the gradient of a longer loop is NaN instead of wrong. (The real
# project compiles again with larger stacks, or saves every k-th carry and repeats k passes.)
CAPACITY = 64
push: Operator = Operator(
    "StackWrite",
    lambda stack, i, value: stack,
    lambda stack, i, value: jax.lax.dynamic_update_index_in_dim(stack, value, i, 0),
    lambda stack, i, value, out, d: [push(d, i, spread(value.shape)(0.0)), None, pop(d, i)],
)
pop: Operator = Operator(
    "StackRead",
    lambda stack, i: replace(stack, shape=stack.shape[1:]),
    lambda stack, i: jax.lax.dynamic_index_in_dim(stack, i, 0, keepdims=False),
    lambda stack, i, out, d: [push(spread(stack.shape)(0.0), i, d), None],
)


def differentiate_loop(test: Graph, step: Graph, start: Any, *fixed: Any) -> tuple[Any, Any]:
    empty = tuple(spread((CAPACITY, *v.shape))(tensor(0, v.type.dtype)) for v in start)

    def forward(count: Tensor, carry: Any, stacks: Any) -> Any:
        pushed = tuple(push(stack, count, value) for stack, value in zip(stacks, carry))
        return count + 1, step(*carry, *fixed), pushed

    def backward(count: Tensor, dcarry: Any, dfixed: Any) -> Any:
        inputs = [*[pop(stack, count - 1) for stack in stacks], *fixed]
        found = filled(vjp(step, inputs)[1](dcarry), inputs)
        return count - 1, found[: len(start)], tuple(map(plus, dfixed, found[len(start) :]))

    def pull(dout: Any) -> list[Any]:
        fits = switch(count < CAPACITY + 1, lambda: 1.0, lambda: np.nan)
        seeds = tuple(d * fits for d in filled(dout, start))
        state = (count, seeds, filled([None] * len(fixed), fixed))
        _, dstart, dfixed = while_loop(lambda count, *_: count > 0, backward, state)
        return [None, None, dstart, *dfixed]

    state = (tensor(0), start, empty)
    count, last, stacks = while_loop(lambda _, carry, __: test(*carry, *fixed), forward, state)
    return last, pull


@cache  # which also makes it no plain function, so that the tracer runs it as it is
def value_and_grad(fn: Callable[..., Any], count: int = 1) -> Any:
    """`fn` with its gradients for the first `count` arguments: (value, gradient, ...)."""

    def both(*args: Tensor) -> Any:
        if HANDLERS[-1] is run_eagerly:
            return trace(value_and_grad(fn, count), *map(type_of, args))[0](*args)
        graph, outside = trace(fn, *map(type_of, args))  # of its own, so that gradients can nest
        value, pull = vjp(graph, [*args, *outside])
        return value, *pull(tensor(1.0))[:count]

    return update_wrapper(partial(both), fn)


@cache
def grad(fn: Callable[[Any], Any]) -> Any:
    """The derivative of a function of one tensor."""
    both = value_and_grad(fn)
    return update_wrapper(partial(lambda x: both(x)[1]), fn)


h = tensor(1e-5)
for fn in (leaky, reciprocal):
    first, second = grad(fn), grad(grad(fn))
    for f, slope in ((fn, first), (first, second)):
        assert np.isclose(slope(two), (f(two + h) - f(two - h)) * 0.5e5)  # finite differences
    print(fn.__name__, np.asarray(first(two)).round(6), np.asarray(second(two)).round(6))
# leaky 4.0 2.0
# reciprocal -0.25 0.25


# ==== 5. Rewriting ================================================================================
# A rewrite rule is an equation. `simplify` replaces what matches its left side by its right side,
# from the inputs up, until no rule applies, and makes equal applications one. (The real rules keep
# every bit: `x + 0 = x` is limited to integers and to -0.0, since -0.0 + 0.0 is 0.0.)
def simpler(node: Apply) -> Any:
    """The node that takes the place of another, or None."""
    args: Any = sorted(node.args, key=is_array) if node.fn.type in (add, mul) else node.args
    match node.fn.type, args:
        case Operator("Mul"), (x, Constant(value=c)) if x.type == node.type and np.all(c == 1):
            return x  # x * 1 = 1 * x = x
        case Operator("Add"), (x, Constant(value=c)) if x.type == node.type and np.all(c == 0):
            return x  # x + 0 = 0 + x = x
        case Operator("Item", static=i), (Apply(fn=Constant(value=Operator("Tuple")), args=parts),):
            return parts[i]  # item[i](tuple(a, b, ...)) = the i-th of a, b, ...
        case Operator() as op, _ if op is not pack and all(map(is_array, args)):
            return constant(op.lower(*[arg.value for arg in args]))  # op(constants) = its value


def is_array(node: Any) -> bool:
    return isinstance(node, Constant) and not isinstance(node.value, Function)


def simplify(graph: Graph) -> Graph:
    """Rewrite a graph, and the graphs that it names, until nothing changes."""
    known: dict[Any, Node] = {}
    new: dict[Node, Node] = {}

    def visit(node: Any) -> Any:
        if node not in new:
            new[node] = node
            match node:
                case Constant(value=Graph() as inner):
                    simplify(inner)
                case Constant(type=type, value=np.ndarray() as array):
                    new[node] = known.setdefault((type, array.tobytes()), node)
                case Apply(fn=fn, args=args):
                    found = replace(node, fn=visit(fn), args=tuple(map(visit, args)))
                    better = simpler(found)
                    same = known.setdefault((found.fn.type, found.args), found)
                    new[node] = same if better is None else visit(better)
        return new[node]

    graph.output = visit(graph.output)
    return graph


def example(x: Any) -> Any:
    return tanh(x) * (two * 0.5) + tanh(x)


graph = trace(example, two.type)[0]
print(graph)
# graph example(x: f64[]):
#   %1: f64[] = Tanh(x)
#   %2: f64[] = Mul(2.0, 0.5)
#   %3: f64[] = Mul(%1, %2)
#   %4: f64[] = Tanh(x)
#   %5: f64[] = Add(%3, %4)
#   return %5
print(simplify(graph))
# graph example(x: f64[]):
#   %1: f64[] = Tanh(x)
#   %2: f64[] = Add(%1, %1)
#   return %2


# ==== 6. One XLA program ==========================================================================
# Under `jax.jit`, `lower` runs the whole graph on jax's own tracers. So the whole graph becomes one
# XLA program, with `jax.lax.cond` and `jax.lax.while_loop`, the backward pass, and the update of
# the parameters. It is compiled once for each function and types of arguments.
@lru_cache(None, typed=True)
def program(fn: Callable[..., Any], *args: Any) -> Any:
    return jax.jit(simplify(trace(fn, *args)[0]).lower)


def run_compiled(fn: Callable[..., Any], *args: Any) -> Any:
    types = [a.type if isinstance(a, Tensor) else a for a in args]
    arrays = [a.data for a in args if isinstance(a, Tensor)]
    return jax.tree.map(Tensor, program(fn, *types)(*arrays))


def loss(w: Any, u: Any, x: Any, y: Any, passes: Any) -> Any:
    """The error of a recurrent cell. How often the cell is applied is a runtime value."""
    h, i = tanh(w * x), 0
    while i < passes:
        h = tanh(w * x + u * h)
        i = i + 1
    return total((h - y) * (h - y))


def train_step(w: Any, u: Any, x: Any, y: Any, passes: Any) -> Any:
    value, dw, du = value_and_grad(loss, 2)(w, u, x, y, passes)
    return value, w - 0.02 * dw, u - 0.02 * du


x, w, u = tensor(np.linspace(-1.0, 1.0, 16)), tensor(0.1), tensor(0.1)
for number in range(201):
    value, w, u = run_compiled(train_step, w, u, x, x * 0.5, tensor(3 + number % 2))
    if number % 200 == 0:
        print(number, *[np.asarray(v).round(4) for v in (value, w, u)])
# 0 0.9158 0.2036 0.1114
# 200 0.0013 0.4391 0.1807
assert program.cache_info().currsize == 1  # forward, backward, and update, for 3 and for 4 passes
assert np.isclose(run_compiled(loss, w, u, x, x, two), loss(w, u, x, x, two))
assert np.isnan(np.asarray(value_and_grad(loss)(w, u, x, x, tensor(CAPACITY + 1))[1]))

# ==== 7. Where to look next =======================================================================
# The real project has the same parts at full size; `docs/architecture.md` says where they are:
# - operators: examples of each test its `infer`, `lower`, and `grad` against each other;
# - the frontend: nearly all of Python, effects on objects, recursion, errors at the user's line;
# - autodiff: residuals, recomputation within a memory budget, gradients of recursion and of maps;
# - passes: rules for arithmetic, shapes, branches, and loops, which are tested on graph text;
# - the runtime: a tape for eager mode, memory layouts, programs on disk, a VM beside XLA.
