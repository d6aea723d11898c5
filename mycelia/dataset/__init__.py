"""Data pipelines: sources, steps, samplers and transforms with MindSpore's interface."""

from mycelia.dataset import config as config
from mycelia.dataset import transforms as transforms
from mycelia.dataset import vision as vision
from mycelia.dataset.api import dataset as _dataset
from mycelia.dataset.api.dataset import Dataset as Dataset
from mycelia.dataset.api.files import Cifar10Dataset as Cifar10Dataset
from mycelia.dataset.api.files import Cifar100Dataset as Cifar100Dataset
from mycelia.dataset.api.files import CSVDataset as CSVDataset
from mycelia.dataset.api.files import FashionMnistDataset as FashionMnistDataset
from mycelia.dataset.api.files import ImageFolderDataset as ImageFolderDataset
from mycelia.dataset.api.files import MnistDataset as MnistDataset
from mycelia.dataset.api.files import TextFileDataset as TextFileDataset
from mycelia.dataset.api.memory import GeneratorDataset as GeneratorDataset
from mycelia.dataset.api.memory import NumpySlicesDataset as NumpySlicesDataset
from mycelia.dataset.api.memory import PaddedDataset as PaddedDataset
from mycelia.dataset.api.samplers import DistributedSampler as DistributedSampler
from mycelia.dataset.api.samplers import IterSampler as IterSampler
from mycelia.dataset.api.samplers import PKSampler as PKSampler
from mycelia.dataset.api.samplers import RandomSampler as RandomSampler
from mycelia.dataset.api.samplers import Sampler as Sampler
from mycelia.dataset.api.samplers import SequentialSampler as SequentialSampler
from mycelia.dataset.api.samplers import Shuffle as Shuffle
from mycelia.dataset.api.samplers import SubsetRandomSampler as SubsetRandomSampler
from mycelia.dataset.api.samplers import SubsetSampler as SubsetSampler
from mycelia.dataset.api.samplers import WeightedRandomSampler as WeightedRandomSampler
from mycelia.dataset.api.serialising import compare as compare
from mycelia.dataset.api.serialising import deserialize as deserialize
from mycelia.dataset.api.serialising import serialize as serialize
from mycelia.dataset.api.serialising import show as show
from mycelia.dataset.runtime.batching import BatchInfo as BatchInfo

zip = _dataset.zip_datasets
