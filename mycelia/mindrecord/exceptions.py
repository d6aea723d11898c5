"""The exceptions of MindRecord, each with its error code.

Where MindSpore documents one type while its native code raises RuntimeError, the exception
derives from both, so either way to catch it works.
"""

from __future__ import annotations

from enum import IntEnum

_HOST_ERROR = 1 << 30 | 1 << 28  # from the host, an error code
_SYSTEM = 0x2A << 17  # the code of the data subsystem
_MODULE_SHIFT = 12


class ConversionStatus(IntEnum):
    """The result of a conversion."""

    SUCCESS = 0
    FAILED = 1


SUCCESS = ConversionStatus.SUCCESS
FAILED = ConversionStatus.FAILED


class MindRecordException(Exception):
    """Base class of all MindRecord exceptions."""

    number = 0
    summary = "unknown error"

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail)
        self.error_msg = detail or self.summary

    def __str__(self) -> str:
        return f"[{type(self).__name__}]: {self.error_msg}"

    @property
    def error_code(self) -> int:
        """The error code in MindSpore's logs."""
        return self.transform_error_code(self.number)

    @staticmethod
    def transform_error_code(exception_no: int) -> int:
        """The complete error code, from the number within this package."""
        module = exception_no // 100 + 1
        return _HOST_ERROR | _SYSTEM | module << _MODULE_SHIFT | exception_no


class UnknownError(MindRecordException):
    """An error of unknown kind."""


class ParamValueError(MindRecordException):
    """An argument with an invalid value."""

    number = 2
    summary = "invalid argument"


class ParamTypeError(MindRecordException):
    """An argument of the wrong type."""

    number = 1

    def __init__(self, param_name: str, expected_type: str) -> None:
        super().__init__(f"'{param_name}' must be of type {expected_type}")


class ParamMissError(MindRecordException):
    """A required argument is missing."""

    number = 3

    def __init__(self, param_name: str) -> None:
        super().__init__(f"'{param_name}' is required")


class PathNotExistsError(MindRecordException):
    """A path does not exist."""

    number = 4

    def __init__(self, error_path: str) -> None:
        super().__init__(f"the path does not exist: {error_path}")


class DbConnectionError(MindRecordException):
    """The index cannot be opened."""

    number = 5
    summary = "the index cannot be opened"


class MRMOpenError(MindRecordException, RuntimeError):
    """The file is missing, damaged, or must not be overwritten."""

    number = 100
    summary = "the MindRecord file cannot be opened"


class MRMOpenForAppendError(MindRecordException, RuntimeError):
    """The file cannot be opened for appending."""

    number = 101
    summary = "the MindRecord file cannot be opened for appending"


class MRMInvalidPageSizeError(MindRecordException, RuntimeError):
    """The page size is out of range."""

    number = 102
    summary = "invalid page size"


class MRMInvalidHeaderSizeError(MindRecordException, RuntimeError):
    """The header size is out of range."""

    number = 103
    summary = "invalid header size"


class MRMSetHeaderError(MindRecordException, RuntimeError):
    """The header cannot be created, for example without a schema."""

    number = 104
    summary = "the header cannot be created"


class MRMWriteDatasetError(MindRecordException, RuntimeError):
    """The rows cannot be written."""

    number = 105
    summary = "the rows cannot be written"


class MRMCommitError(MindRecordException, RuntimeError):
    """The files cannot be finished."""

    number = 107
    summary = "the files cannot be finished"


class MRMLaunchError(MindRecordException, RuntimeError):
    """The reader cannot start."""

    number = 108
    summary = "the reader cannot start"


class MRMFinishError(MindRecordException, RuntimeError):
    """The reader cannot stop."""

    number = 109
    summary = "the reader cannot stop"


class MRMCloseError(MindRecordException, RuntimeError):
    """The file cannot be closed."""

    number = 110
    summary = "the file cannot be closed"


class MRMAddSchemaError(MindRecordException):
    """A second schema was added."""

    number = 111
    summary = "the schema cannot be added"


class MRMAddIndexError(MindRecordException, RuntimeError):
    """The field cannot be indexed."""

    number = 112
    summary = "the index field cannot be added"


class MRMBuildSchemaError(MindRecordException):
    """The schema has invalid shapes."""

    number = 113
    summary = "the schema cannot be built"


class MRMGetMetaError(MindRecordException):
    """The schema is missing."""

    number = 114
    summary = "the schema is missing"


class MRMIndexGeneratorError(MindRecordException, RuntimeError):
    """The index cannot be created."""

    number = 115
    summary = "the index cannot be created"


class MRMGenerateIndexError(MindRecordException, RuntimeError):
    """The index cannot be written."""

    number = 116
    summary = "the index cannot be written"


class MRMInitSegmentError(MindRecordException, RuntimeError):
    """The files cannot be read by page."""

    number = 117
    summary = "the files cannot be read by page"


class MRMFetchCandidateFieldsError(MindRecordException, RuntimeError):
    """The index fields cannot be listed."""

    number = 118
    summary = "the index fields cannot be listed"


class MRMReadCategoryInfoError(MindRecordException, RuntimeError):
    """The categories cannot be counted."""

    number = 119
    summary = "the categories cannot be counted"


class MRMFetchDataError(MindRecordException, RuntimeError):
    """The rows cannot be read."""

    number = 120
    summary = "the rows cannot be read"


class MRMInvalidSchemaError(MindRecordException):
    """The schema is invalid."""

    number = 200
    summary = "the schema is invalid"


class MRMValidateDataError(MindRecordException):
    """A row does not match the schema."""

    number = 201
    summary = "a row does not match the schema"


class MRMDefineIndexError(MindRecordException):
    """An index on a field that holds bytes or an array."""

    number = 202
    summary = "invalid index field"


class MRMDefineBlobError(MindRecordException):
    """The field cannot hold bytes."""

    number = 203
    summary = "invalid blob field"


class MRMUnsupportedSchemaError(MindRecordException):
    """The stored bytes cannot be decoded with the schema."""

    number = 204
    summary = "the schema does not match the stored bytes"


class MRMDefineCategoryError(MindRecordException):
    """The category field is not an index field."""

    number = 205
    summary = "invalid category field"
