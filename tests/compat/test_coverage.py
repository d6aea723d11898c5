"""How much of MindSpore's interface is served, and that it does not become less."""

from pathlib import Path

from mycelia.compat import coverage, reference
from mycelia.compat.coverage_report import ABSENT, Coverage, is_there
from mycelia.compat.names import names
from tests.compat.tested import called_names

ROOT = Path(__file__).resolve().parents[2]
LISTED = ROOT / "mycelia" / "compat" / "tested_names.txt"
ELSEWHERE = ("mindspore.dataset", "mindspore.mindrecord", "mindspore.parallel")
USES, USES_OF_ALL, SERVED, TESTED = 0.995, 0.99, 3150, 3000


def test_served_names():
    found = coverage()
    assert found.without(*ELSEWHERE).uses >= USES
    assert found.uses >= USES_OF_ALL
    assert len(found.served) >= SERVED


def test_tested_names():
    """Writes the list of the names that tests call, which must be the one that is kept."""
    kept, now = LISTED.read_text().split(), called_names()
    if kept != now:
        LISTED.write_text("\n".join(now) + "\n")
    assert kept == now, "tested_names.txt was old; it is written anew: scripts/write_api_reference"
    found = coverage()
    tested = Coverage(tuple(s for s in found.served if s.name.path in set(now)))
    assert len(tested.states) >= TESTED
    assert sum(s.name.uses for s in tested.states) >= 0.99 * sum(n.uses for n in names())


def test_pages_are_as_the_code():
    for name, text in reference.pages().items():
        assert (ROOT / "docs" / "api" / name).read_text() == text, f"{name}: write_api_reference"


def test_a_table_for_people():
    text = str(coverage().within("mindspore.nn"))
    assert text.startswith("| module |") and "| mindspore.nn |" in text


def test_what_is_not_there_is_absent():
    assert not is_there("mindspore.nn.Densee") and is_there("mindspore.nn.Dense")
    assert {s.state for s in coverage().absent} == {ABSENT}
    assert len(names()) == 4030
