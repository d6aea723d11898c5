"""Data pipelines with MindSpore's interface: sources, samplers, and transforms."""

from typing import Any as _Any

from mycelia._engine.core.lazy_import import LazyNames as _LazyNames
from mycelia.dataset import config as config
from mycelia.dataset import transforms as transforms
from mycelia.dataset import vision as vision
from mycelia.dataset.api import dataset as _dataset
from mycelia.dataset.api.annotated_sets import Caltech101Dataset as Caltech101Dataset
from mycelia.dataset.api.annotated_sets import CelebADataset as CelebADataset
from mycelia.dataset.api.annotated_sets import CityscapesDataset as CityscapesDataset
from mycelia.dataset.api.annotated_sets import CocoDataset as CocoDataset
from mycelia.dataset.api.annotated_sets import FlickrDataset as FlickrDataset
from mycelia.dataset.api.annotated_sets import Flowers102Dataset as Flowers102Dataset
from mycelia.dataset.api.annotated_sets import KITTIDataset as KITTIDataset
from mycelia.dataset.api.annotated_sets import ManifestDataset as ManifestDataset
from mycelia.dataset.api.annotated_sets import SBDataset as SBDataset
from mycelia.dataset.api.annotated_sets import VOCDataset as VOCDataset
from mycelia.dataset.api.annotated_sets import WIDERFaceDataset as WIDERFaceDataset
from mycelia.dataset.api.cache import DatasetCache as DatasetCache
from mycelia.dataset.api.callbacks import DSCallback as DSCallback
from mycelia.dataset.api.dataset import Dataset as Dataset
from mycelia.dataset.api.files import Cifar10Dataset as Cifar10Dataset
from mycelia.dataset.api.files import Cifar100Dataset as Cifar100Dataset
from mycelia.dataset.api.files import CSVDataset as CSVDataset
from mycelia.dataset.api.files import FashionMnistDataset as FashionMnistDataset
from mycelia.dataset.api.files import ImageFolderDataset as ImageFolderDataset
from mycelia.dataset.api.files import MnistDataset as MnistDataset
from mycelia.dataset.api.files import TextFileDataset as TextFileDataset
from mycelia.dataset.api.image_sets import Caltech256Dataset as Caltech256Dataset
from mycelia.dataset.api.image_sets import EMnistDataset as EMnistDataset
from mycelia.dataset.api.image_sets import Food101Dataset as Food101Dataset
from mycelia.dataset.api.image_sets import KMnistDataset as KMnistDataset
from mycelia.dataset.api.image_sets import LSUNDataset as LSUNDataset
from mycelia.dataset.api.image_sets import OmniglotDataset as OmniglotDataset
from mycelia.dataset.api.image_sets import PhotoTourDataset as PhotoTourDataset
from mycelia.dataset.api.image_sets import QMnistDataset as QMnistDataset
from mycelia.dataset.api.image_sets import RenderedSST2Dataset as RenderedSST2Dataset
from mycelia.dataset.api.image_sets import SBUDataset as SBUDataset
from mycelia.dataset.api.image_sets import SemeionDataset as SemeionDataset
from mycelia.dataset.api.image_sets import STL10Dataset as STL10Dataset
from mycelia.dataset.api.image_sets import SUN397Dataset as SUN397Dataset
from mycelia.dataset.api.image_sets import SVHNDataset as SVHNDataset
from mycelia.dataset.api.image_sets import USPSDataset as USPSDataset
from mycelia.dataset.api.listed_sets import DIV2KDataset as DIV2KDataset
from mycelia.dataset.api.listed_sets import FakeImageDataset as FakeImageDataset
from mycelia.dataset.api.listed_sets import LFWDataset as LFWDataset
from mycelia.dataset.api.listed_sets import Places365Dataset as Places365Dataset
from mycelia.dataset.api.listed_sets import RandomDataset as RandomDataset
from mycelia.dataset.api.memory import GeneratorDataset as GeneratorDataset
from mycelia.dataset.api.memory import NumpySlicesDataset as NumpySlicesDataset
from mycelia.dataset.api.memory import PaddedDataset as PaddedDataset
from mycelia.dataset.api.records import MindDataset as MindDataset
from mycelia.dataset.api.records import TFRecordDataset as TFRecordDataset
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
from mycelia.dataset.api.schema import Schema as Schema
from mycelia.dataset.api.serialization import compare as compare
from mycelia.dataset.api.serialization import deserialize as deserialize
from mycelia.dataset.api.serialization import serialize as serialize
from mycelia.dataset.api.serialization import show as show
from mycelia.dataset.api.speech_sets import CMUArcticDataset as CMUArcticDataset
from mycelia.dataset.api.speech_sets import GTZANDataset as GTZANDataset
from mycelia.dataset.api.speech_sets import LibriTTSDataset as LibriTTSDataset
from mycelia.dataset.api.speech_sets import LJSpeechDataset as LJSpeechDataset
from mycelia.dataset.api.speech_sets import SpeechCommandsDataset as SpeechCommandsDataset
from mycelia.dataset.api.speech_sets import TedliumDataset as TedliumDataset
from mycelia.dataset.api.speech_sets import YesNoDataset as YesNoDataset
from mycelia.dataset.api.text_sets import AGNewsDataset as AGNewsDataset
from mycelia.dataset.api.text_sets import AmazonReviewDataset as AmazonReviewDataset
from mycelia.dataset.api.text_sets import CLUEDataset as CLUEDataset
from mycelia.dataset.api.text_sets import CoNLL2000Dataset as CoNLL2000Dataset
from mycelia.dataset.api.text_sets import DBpediaDataset as DBpediaDataset
from mycelia.dataset.api.text_sets import EnWik9Dataset as EnWik9Dataset
from mycelia.dataset.api.text_sets import IMDBDataset as IMDBDataset
from mycelia.dataset.api.text_sets import PennTreebankDataset as PennTreebankDataset
from mycelia.dataset.api.text_sets import SogouNewsDataset as SogouNewsDataset
from mycelia.dataset.api.text_sets import SQuADDataset as SQuADDataset
from mycelia.dataset.api.text_sets import SST2Dataset as SST2Dataset
from mycelia.dataset.api.text_sets import UDPOSDataset as UDPOSDataset
from mycelia.dataset.api.text_sets import WikiTextDataset as WikiTextDataset
from mycelia.dataset.api.text_sets import YahooAnswersDataset as YahooAnswersDataset
from mycelia.dataset.api.text_sets import YelpReviewDataset as YelpReviewDataset
from mycelia.dataset.api.translation_sets import IWSLT2016Dataset as IWSLT2016Dataset
from mycelia.dataset.api.translation_sets import IWSLT2017Dataset as IWSLT2017Dataset
from mycelia.dataset.api.translation_sets import Multi30kDataset as Multi30kDataset
from mycelia.dataset.runtime.batch import BatchInfo as BatchInfo

zip = _dataset.zip_datasets


_lazy = _LazyNames(  # imported on first use because their dependencies are slow to import
    __name__, {"audio": None, "debug": None, "text": None, "utils": "mycelia.dataset.inspection"}
)


def __getattr__(name: str) -> _Any:
    return _lazy.find(name)


def __dir__() -> list[str]:
    return _lazy.listed()
