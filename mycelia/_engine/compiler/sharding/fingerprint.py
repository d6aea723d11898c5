"""Fingerprints of sharding problems, which identify the program of a saved plan."""

from __future__ import annotations

import hashlib

from mycelia._engine.compiler.sharding.problem import ShardingProblem


def fingerprint(problem: ShardingProblem) -> str:
    """A hash of the operator instances: equal for equal programs, in every process."""
    digest = hashlib.sha256()
    for instance in problem.instances:
        types = ",".join(map(str, (*instance.input_types, *instance.output_types)))
        digest.update(f"{instance.name}|{types}|{instance.times}\n".encode())
    return digest.hexdigest()[:16]
