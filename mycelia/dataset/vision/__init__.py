"""The transforms of images: `mindspore.dataset.vision`."""

from mycelia.dataset.vision.coding import HWC2CHW as HWC2CHW
from mycelia.dataset.vision.coding import Decode as Decode
from mycelia.dataset.vision.coding import RandomCropDecodeResize as RandomCropDecodeResize
from mycelia.dataset.vision.coding import ToNumpy as ToNumpy
from mycelia.dataset.vision.coding import ToPIL as ToPIL
from mycelia.dataset.vision.coding import ToTensor as ToTensor
from mycelia.dataset.vision.colour import Equalize as Equalize
from mycelia.dataset.vision.colour import Grayscale as Grayscale
from mycelia.dataset.vision.colour import Invert as Invert
from mycelia.dataset.vision.colour import Normalize as Normalize
from mycelia.dataset.vision.colour import RandomColorAdjust as RandomColorAdjust
from mycelia.dataset.vision.colour import Rescale as Rescale
from mycelia.dataset.vision.geometry import CenterCrop as CenterCrop
from mycelia.dataset.vision.geometry import Crop as Crop
from mycelia.dataset.vision.geometry import HorizontalFlip as HorizontalFlip
from mycelia.dataset.vision.geometry import Pad as Pad
from mycelia.dataset.vision.geometry import RandomCrop as RandomCrop
from mycelia.dataset.vision.geometry import RandomHorizontalFlip as RandomHorizontalFlip
from mycelia.dataset.vision.geometry import RandomResizedCrop as RandomResizedCrop
from mycelia.dataset.vision.geometry import RandomRotation as RandomRotation
from mycelia.dataset.vision.geometry import RandomVerticalFlip as RandomVerticalFlip
from mycelia.dataset.vision.geometry import Resize as Resize
from mycelia.dataset.vision.geometry import VerticalFlip as VerticalFlip
from mycelia.dataset.vision.options import Border as Border
from mycelia.dataset.vision.options import Inter as Inter
