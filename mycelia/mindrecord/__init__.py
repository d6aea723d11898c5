"""MindRecord: record files with a schema and an index, and converters from other formats."""

from mycelia.mindrecord.converters.cifar import Cifar10ToMR as Cifar10ToMR
from mycelia.mindrecord.converters.cifar import Cifar100ToMR as Cifar100ToMR
from mycelia.mindrecord.converters.csv_table import CsvToMR as CsvToMR
from mycelia.mindrecord.converters.imagenet import ImageNetToMR as ImageNetToMR
from mycelia.mindrecord.converters.mnist import MnistToMR as MnistToMR
from mycelia.mindrecord.converters.tfrecord_file import TFRecordToMR as TFRecordToMR
from mycelia.mindrecord.encryption import set_dec_mode as set_dec_mode
from mycelia.mindrecord.encryption import set_enc_key as set_enc_key
from mycelia.mindrecord.encryption import set_enc_mode as set_enc_mode
from mycelia.mindrecord.exceptions import FAILED as FAILED
from mycelia.mindrecord.exceptions import SUCCESS as SUCCESS
from mycelia.mindrecord.exceptions import DbConnectionError as DbConnectionError
from mycelia.mindrecord.exceptions import MindRecordException as MindRecordException
from mycelia.mindrecord.exceptions import MRMAddIndexError as MRMAddIndexError
from mycelia.mindrecord.exceptions import MRMAddSchemaError as MRMAddSchemaError
from mycelia.mindrecord.exceptions import MRMBuildSchemaError as MRMBuildSchemaError
from mycelia.mindrecord.exceptions import MRMCloseError as MRMCloseError
from mycelia.mindrecord.exceptions import MRMCommitError as MRMCommitError
from mycelia.mindrecord.exceptions import MRMDefineBlobError as MRMDefineBlobError
from mycelia.mindrecord.exceptions import MRMDefineCategoryError as MRMDefineCategoryError
from mycelia.mindrecord.exceptions import MRMDefineIndexError as MRMDefineIndexError
from mycelia.mindrecord.exceptions import (
    MRMFetchCandidateFieldsError as MRMFetchCandidateFieldsError,
)
from mycelia.mindrecord.exceptions import MRMFetchDataError as MRMFetchDataError
from mycelia.mindrecord.exceptions import MRMFinishError as MRMFinishError
from mycelia.mindrecord.exceptions import MRMGenerateIndexError as MRMGenerateIndexError
from mycelia.mindrecord.exceptions import MRMGetMetaError as MRMGetMetaError
from mycelia.mindrecord.exceptions import MRMIndexGeneratorError as MRMIndexGeneratorError
from mycelia.mindrecord.exceptions import MRMInitSegmentError as MRMInitSegmentError
from mycelia.mindrecord.exceptions import MRMInvalidHeaderSizeError as MRMInvalidHeaderSizeError
from mycelia.mindrecord.exceptions import MRMInvalidPageSizeError as MRMInvalidPageSizeError
from mycelia.mindrecord.exceptions import MRMInvalidSchemaError as MRMInvalidSchemaError
from mycelia.mindrecord.exceptions import MRMLaunchError as MRMLaunchError
from mycelia.mindrecord.exceptions import MRMOpenError as MRMOpenError
from mycelia.mindrecord.exceptions import MRMOpenForAppendError as MRMOpenForAppendError
from mycelia.mindrecord.exceptions import MRMReadCategoryInfoError as MRMReadCategoryInfoError
from mycelia.mindrecord.exceptions import MRMSetHeaderError as MRMSetHeaderError
from mycelia.mindrecord.exceptions import MRMUnsupportedSchemaError as MRMUnsupportedSchemaError
from mycelia.mindrecord.exceptions import MRMValidateDataError as MRMValidateDataError
from mycelia.mindrecord.exceptions import MRMWriteDatasetError as MRMWriteDatasetError
from mycelia.mindrecord.exceptions import ParamMissError as ParamMissError
from mycelia.mindrecord.exceptions import ParamTypeError as ParamTypeError
from mycelia.mindrecord.exceptions import ParamValueError as ParamValueError
from mycelia.mindrecord.exceptions import PathNotExistsError as PathNotExistsError
from mycelia.mindrecord.exceptions import UnknownError as UnknownError
from mycelia.mindrecord.mindpage import MindPage as MindPage
from mycelia.mindrecord.reader import FileReader as FileReader
from mycelia.mindrecord.records import Records as Records
from mycelia.mindrecord.writer import FileWriter as FileWriter
