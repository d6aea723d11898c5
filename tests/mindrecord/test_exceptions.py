"""The errors: their kinds, messages and numbers."""

from __future__ import annotations

import pytest

from mycelia import mindrecord

PLAIN = [
    mindrecord.UnknownError,
    mindrecord.ParamValueError,
    mindrecord.DbConnectionError,
    mindrecord.MRMAddSchemaError,
    mindrecord.MRMBuildSchemaError,
    mindrecord.MRMGetMetaError,
    mindrecord.MRMInvalidSchemaError,
    mindrecord.MRMValidateDataError,
    mindrecord.MRMDefineIndexError,
    mindrecord.MRMDefineBlobError,
    mindrecord.MRMUnsupportedSchemaError,
    mindrecord.MRMDefineCategoryError,
]
NATIVE = [
    mindrecord.MRMOpenError,
    mindrecord.MRMOpenForAppendError,
    mindrecord.MRMInvalidPageSizeError,
    mindrecord.MRMInvalidHeaderSizeError,
    mindrecord.MRMSetHeaderError,
    mindrecord.MRMWriteDatasetError,
    mindrecord.MRMCommitError,
    mindrecord.MRMLaunchError,
    mindrecord.MRMFinishError,
    mindrecord.MRMCloseError,
    mindrecord.MRMAddIndexError,
    mindrecord.MRMIndexGeneratorError,
    mindrecord.MRMGenerateIndexError,
    mindrecord.MRMInitSegmentError,
    mindrecord.MRMFetchCandidateFieldsError,
    mindrecord.MRMReadCategoryInfoError,
    mindrecord.MRMFetchDataError,
]


@pytest.mark.parametrize("kind", PLAIN + NATIVE)
def test_errors_say_their_kind_and_what_happened(kind):
    error = kind("the reason")
    assert isinstance(error, mindrecord.MindRecordException)
    assert issubclass(kind, RuntimeError) == (kind in NATIVE)
    assert str(error) == f"[{kind.__name__}]: the reason"
    assert kind().error_msg == kind.summary
    assert error.error_code & 0xFFF == kind.number


def test_numbers_are_those_of_mindspore():
    assert mindrecord.MRMOpenError().error_code == 1347690596
    assert mindrecord.MRMInvalidSchemaError("x").error_code == 1347694792
    assert mindrecord.UnknownError().error_code == 1347686400
    assert mindrecord.MindRecordException.transform_error_code(100) == 1347690596
    numbers = [kind.number for kind in PLAIN[1:] + NATIVE]
    assert len(set(numbers)) == len(numbers)


def test_errors_of_arguments_name_them():
    assert "'size' must be of type int" in str(mindrecord.ParamTypeError("size", "int"))
    assert "'size' is required" in str(mindrecord.ParamMissError("size"))
    assert "the path does not exist: /x" in str(mindrecord.PathNotExistsError("/x"))


def test_status_values():
    assert (int(mindrecord.SUCCESS), int(mindrecord.FAILED)) == (0, 1)
    assert mindrecord.SUCCESS.name == "SUCCESS"
