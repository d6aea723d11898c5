"""The intermediate representation: types, primitives, nodes, graphs, and analyses of them."""
