"""`mindspore._c_expression.security`: whether this is the build without debugging features."""


def enable_security() -> bool:
    """Debugging features are always there."""
    return False
