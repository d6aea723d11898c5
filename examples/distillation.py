"""Knowledge distillation: a small network learns from the soft answers of a large one."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

CLASSES, HEAT = 5, 3.0


def network(width):
    return nn.SequentialCell(
        nn.Dense(2, width), nn.Tanh(), nn.Dense(width, width), nn.Tanh(), nn.Dense(width, CLASSES)
    )


class DistillLoss(nn.Cell):
    def __init__(self, student, teacher):
        super().__init__()
        self.student, self.teacher = student, teacher
        self.teacher.set_grad(False)
        self.divergence = nn.KLDivLoss(reduction="sum")
        self.hard = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def construct(self, x, labels):
        answer = self.student(x)
        soft = ops.stop_gradient(ops.softmax(self.teacher(x) / HEAT))
        far = self.divergence(ops.log_softmax(answer / HEAT), soft) / x.shape[0]
        return 0.9 * HEAT**2 * far + 0.1 * self.hard(answer, labels)


def petals(random, count):
    """Five classes around the middle, each in a sector of its own."""
    labels = random.integers(0, CLASSES, count)
    angle = 2 * np.pi * labels / CLASSES + random.normal(0, 0.25, count)
    radius = random.uniform(0.3, 1, count)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1) * 3
    return Tensor(points, ms.float32), Tensor(labels, ms.int32)


def accuracy(net, data):
    return (net(data[0]).asnumpy().argmax(1) == data[1].asnumpy()).mean()


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(18)
    random = np.random.default_rng(18)
    teacher, student = network(64), network(6)
    train, test = petals(random, 400), petals(random, 400)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    teach = nn.TrainOneStepCell(
        nn.WithLossCell(teacher, loss), nn.Adam(teacher.trainable_params(), 0.01)
    )
    for _ in range(150):
        teach(*train)
    before = accuracy(student, test)
    learn = nn.TrainOneStepCell(
        DistillLoss(student, teacher), nn.Adam(student.trainable_params(), 0.02)
    )
    for _ in range(200):
        learn(*train)
    print(f"teacher's part right {accuracy(teacher, test):.3f}")
    print(f"accuracy of the student: {before:.3f} -> {accuracy(student, test):.3f}")


if __name__ == "__main__":
    main()
