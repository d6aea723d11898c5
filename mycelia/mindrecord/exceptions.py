"""The errors of MindRecord, each with its number.

Those for which MindSpore's documents name one type while its native code raises RuntimeError
are both, so that either way of catching them works.
"""

from __future__ import annotations

from enum import IntEnum

_HOST_ERROR = 1 << 30 | 1 << 28  # from the host, an error code
_SYSTEM = 0x2A << 17  # the number of the data subsystem
_MODULE_SHIFT = 12


class ConversionStatus(IntEnum):
    """How a conversion ended."""

    SUCCESS = 0
    FAILED = 1


SUCCESS = ConversionStatus.SUCCESS
FAILED = ConversionStatus.FAILED


class MindRecordException(Exception):
    """What all errors of this package are."""

    number = 0
    summary = "something went wrong"

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail)
        self.error_msg = detail or self.summary

    def __str__(self) -> str:
        return f"[{type(self).__name__}]: {self.error_msg}"

    @property
    def error_code(self) -> int:
        """The number by which logs of MindSpore name this error."""
        return self.transform_error_code(self.number)

    @staticmethod
    def transform_error_code(exception_no: int) -> int:
        """The whole code of an error, from its number in this package."""
        module = exception_no // 100 + 1
        return _HOST_ERROR | _SYSTEM | module << _MODULE_SHIFT | exception_no


class UnknownError(MindRecordException):
    """An error of no other kind."""


class ParamValueError(MindRecordException):
    """An argument with a value that makes no sense."""

    number = 2
    summary = "an argument has a wrong value"


class ParamTypeError(MindRecordException):
    """An argument of a wrong type."""

    number = 1

    def __init__(self, param_name: str, expected_type: str) -> None:
        super().__init__(f"'{param_name}' must be of type {expected_type}")


class ParamMissError(MindRecordException):
    """An argument that is needed and was not given."""

    number = 3

    def __init__(self, param_name: str) -> None:
        super().__init__(f"'{param_name}' is needed and was not given")


class PathNotExistsError(MindRecordException):
    """A path at which there is nothing."""

    number = 4

    def __init__(self, error_path: str) -> None:
        super().__init__(f"there is no such path: {error_path}")


class DbConnectionError(MindRecordException):
    """An index that cannot be opened."""

    number = 5
    summary = "the index cannot be opened"


class MRMOpenError(MindRecordException, RuntimeError):
    """A file that is absent, damaged, or must not be overwritten."""

    number = 100
    summary = "the MindRecord file cannot be opened"


class MRMOpenForAppendError(MindRecordException, RuntimeError):
    """A file to which nothing can be added."""

    number = 101
    summary = "the MindRecord file cannot be opened to add rows"


class MRMInvalidPageSizeError(MindRecordException, RuntimeError):
    """A page size outside what the format allows."""

    number = 102
    summary = "the page size is not allowed"


class MRMInvalidHeaderSizeError(MindRecordException, RuntimeError):
    """A header size outside what the format allows."""

    number = 103
    summary = "the header size is not allowed"


class MRMSetHeaderError(MindRecordException, RuntimeError):
    """A header that cannot be made, as without a schema."""

    number = 104
    summary = "the header cannot be made"


class MRMWriteDatasetError(MindRecordException, RuntimeError):
    """Rows that cannot be written."""

    number = 105
    summary = "the rows cannot be written"


class MRMCommitError(MindRecordException, RuntimeError):
    """Files that cannot be finished."""

    number = 107
    summary = "the files cannot be finished"


class MRMLaunchError(MindRecordException, RuntimeError):
    """A reader that cannot start."""

    number = 108
    summary = "the reader cannot start"


class MRMFinishError(MindRecordException, RuntimeError):
    """A reader that cannot stop."""

    number = 109
    summary = "the reader cannot stop"


class MRMCloseError(MindRecordException, RuntimeError):
    """A file that cannot be closed."""

    number = 110
    summary = "the file cannot be closed"


class MRMAddSchemaError(MindRecordException):
    """A second schema."""

    number = 111
    summary = "the schema cannot be added"


class MRMAddIndexError(MindRecordException, RuntimeError):
    """A field that cannot be an index."""

    number = 112
    summary = "the index field cannot be added"


class MRMBuildSchemaError(MindRecordException):
    """A schema whose shapes make no sense."""

    number = 113
    summary = "the schema cannot be built"


class MRMGetMetaError(MindRecordException):
    """A schema that was asked for and is not there."""

    number = 114
    summary = "there is no schema yet"


class MRMIndexGeneratorError(MindRecordException, RuntimeError):
    """An index that cannot be made."""

    number = 115
    summary = "the index cannot be made"


class MRMGenerateIndexError(MindRecordException, RuntimeError):
    """An index that cannot be written."""

    number = 116
    summary = "the index cannot be written"


class MRMInitSegmentError(MindRecordException, RuntimeError):
    """Files that cannot be read by pages."""

    number = 117
    summary = "the files cannot be read by pages"


class MRMFetchCandidateFieldsError(MindRecordException, RuntimeError):
    """Index fields that cannot be listed."""

    number = 118
    summary = "the index fields cannot be listed"


class MRMReadCategoryInfoError(MindRecordException, RuntimeError):
    """Categories that cannot be counted."""

    number = 119
    summary = "the categories cannot be counted"


class MRMFetchDataError(MindRecordException, RuntimeError):
    """Rows that cannot be read."""

    number = 120
    summary = "the rows cannot be read"


class MRMInvalidSchemaError(MindRecordException):
    """A schema that is not one."""

    number = 200
    summary = "the schema is not valid"


class MRMValidateDataError(MindRecordException):
    """A row that does not fit the schema."""

    number = 201
    summary = "a row does not fit the schema"


class MRMDefineIndexError(MindRecordException):
    """An index on a field that holds bytes or an array."""

    number = 202
    summary = "the index field is not valid"


class MRMDefineBlobError(MindRecordException):
    """A field that cannot hold bytes."""

    number = 203
    summary = "the blob field is not valid"


class MRMUnsupportedSchemaError(MindRecordException):
    """A schema by which the stored bytes cannot be read."""

    number = 204
    summary = "the schema does not fit the stored bytes"


class MRMDefineCategoryError(MindRecordException):
    """A category field that is not an index field."""

    number = 205
    summary = "the category field is not valid"
