"""`mindspore._c_expression.security`: whether this is the build without debugging features."""


def enable_security() -> bool:
    """Return False: debugging features are always available."""
    return False
