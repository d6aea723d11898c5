"""Networks that the tests rewrite."""

from __future__ import annotations

from mycelia import Parameter, Tensor, nn, ops


class ConvBlock(nn.Cell):
    """Convolution, normalization, activation."""

    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels_out, 3)
        self.bn = nn.BatchNorm2d(channels_out)
        self.relu = nn.ReLU()

    def construct(self, x):
        return self.relu(self.bn(self.conv(x)))


class Residual(nn.Cell):
    """Two blocks and a way around them."""

    def __init__(self, channels):
        super().__init__()
        self.body = nn.SequentialCell(
            ConvBlock(channels, channels),
            nn.Conv2d(channels, channels, 3),
            nn.BatchNorm2d(channels),
        )
        self.relu = nn.ReLU()
        self.down = None

    def construct(self, x):
        identity = x
        out = self.body(x)
        if self.down is not None:
            identity = self.down(x)
        out += identity
        return self.relu(out)


class TinyResNet(nn.Cell):
    """Nested cells, a SequentialCell, a CellList, dropout, and a head."""

    def __init__(self, classes=3):
        super().__init__()
        self.stem = ConvBlock(1, 4)
        self.layers = nn.CellList([Residual(4), Residual(4)])
        self.tail = nn.SequentialCell(nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4), nn.ReLU())
        self.dropout = nn.Dropout(p=0.5)
        self.fc = nn.Dense(4, classes)

    def construct(self, x):
        x = self.stem(x)
        for layer in self.layers:
            x = layer(x)
        x = self.tail(x)
        x = self.dropout(x.mean((2, 3)))
        return self.fc(x)


def double(a, b):
    c = ops.add(a, b)
    return c * 2


class Everything(nn.Cell):
    """One statement of each kind."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(4, 4)
        self.block = Inner()
        self.prim = ops.ReLU()
        self.seq = nn.SequentialCell(nn.Dense(4, 4), nn.Tanh())
        self.times = 2
        self.weight = Parameter(Tensor([1.0, 2.0, 3.0, 4.0]), name="weight")

    def twice(self, z):
        z = self.prim(z)
        return z + z

    def construct(self, x, y=None, *, scale=2.0):
        """Does a little of all."""
        x = self.prim(self.fc(x)) * scale
        x = self.block(x)
        x = self.seq(x)
        size = x.shape[0]
        for i in range(self.times):
            x = ops.tanh(x) + i
        if y is not None and size > 1:
            x = x + y
        else:
            x = -x
        while self.times < 0:
            x = x * 2
        x = double(x, self.weight)
        x = self.twice(x)
        z = x if self.times else y
        x += 1
        a, b = x, z.mean()
        return a, b


class Inner(nn.Cell):
    """A cell of the user's inside another."""

    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU()

    def construct(self, x):
        return self.relu(x)
