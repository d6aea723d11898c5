"""Fingerprints of sharding problems, which identify the program of a saved plan."""

from __future__ import annotations

import hashlib

from mycelia._engine.compiler.sharding.problem import ShardingProblem


def fingerprint(problem: ShardingProblem) -> str:
    """A hash of the operator instances: equal for equal programs, in every process."""
    digest = hashlib.sha256()
    for work in problem.works:
        types = ",".join(map(str, (*work.input_types, *work.output_types)))
        digest.update(f"{work.name}|{types}|{work.times}\n".encode())
    return digest.hexdigest()[:16]
