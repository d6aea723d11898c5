"""Scripts that run in a peer's own Python: each needs its framework, numpy and nothing else.

They are copied out of the package before they run, so Mycelia meets them as what they are: code
of a user.
"""
