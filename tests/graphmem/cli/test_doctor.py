import hashlib
import json
from datetime import UTC, datetime, timedelta

import pytest

from graphmem import config
from graphmem.cli import doctor
from graphmem.doctor.findings import Connection, Examination, Finding, Way

FINDINGS = {
    severity: Finding(severity=severity, subject="disk", what=f"it is {severity}", remedy="buy one")
    for severity in ("ok", "note", "warning", "problem")
}
CONNECTION = Connection(
    uri="bolt://x",
    user="neo4j",
    database="neo4j",
    credentials="a file",
    ways=[Way(program="NeoDash", how="with a click")],
)


@pytest.fixture
def finds(monkeypatch):
    """Let an examination find this."""

    def set_to(*severities: str) -> None:
        async def examine(settings, **options) -> Examination:
            findings = [FINDINGS[severity] for severity in severities]
            return Examination(healthy=True, findings=findings, connection=CONNECTION)

        monkeypatch.setattr("graphmem.doctor.examination.examine", examine)

    return set_to


@pytest.mark.parametrize(
    ("severities", "exit_code"),
    [(("ok",), 0), (("note", "warning"), 0), (("problem", "ok"), 1)],
)
def test_only_a_problem_makes_the_exit_code_1(invoke, finds, severities, exit_code):
    finds(*severities)
    assert invoke("doctor").exit_code == exit_code
    assert invoke("doctor", "--json").exit_code == exit_code


def test_each_finding_is_a_line_with_what_to_do_below_it(invoke, finds):
    finds("ok", "problem")
    lines = invoke("doctor").stdout.splitlines()
    assert "✗ disk: it is problem" in lines
    assert lines[lines.index("✗ disk: it is problem") + 1] == "    → buy one"
    assert lines[-1] == "1 problem, 2 ok"
    told = lines.index("to connect: bolt://x, user neo4j, database neo4j, password in a file")
    assert lines[told + 1] == "    NeoDash: with a click"
    assert "graphmem cypher" in lines[told + 2]


def test_several_of_a_kind_are_counted_as_such(invoke, finds):
    finds("warning", "ok", "warning")
    assert invoke("doctor").stdout.splitlines()[-1] == "2 warnings, 2 ok"


def test_a_program_gets_all_of_it(invoke, finds):
    finds("ok", "problem")
    told = json.loads(invoke("doctor", "--json").stdout)
    assert told["healthy"] is False
    assert told["findings"][-1] == {
        "severity": "problem",
        "subject": "disk",
        "what": "it is problem",
        "remedy": "buy one",
    }
    assert told["connection"]["credentials"] == "a file"


def test_a_real_server_is_examined_and_its_password_is_not_told(graphmem, environment):
    told = graphmem("doctor", "--json")
    assert told.returncode in {0, 1}, told.stderr
    examined = json.loads(told.stdout)
    assert examined["connection"]["uri"] == environment["GRAPHMEM_NEO4J_URI"]
    assert environment["GRAPHMEM_NEO4J_PASSWORD"] not in told.stdout + told.stderr
    ways = {way["program"]: way["how"] for way in examined["connection"]["ways"]}
    assert {"Neo4j Browser", "NeoDash", "Bloom", "any Bolt driver"} <= set(ways)
    assert all(environment["GRAPHMEM_NEO4J_USER"] in how for how in ways.values())
    assert {"server", "migrations", "memories"} <= {one["subject"] for one in examined["findings"]}


def test_a_server_that_is_not_there_is_a_problem_and_no_failure(invoke):
    result = invoke("doctor", "--neo4j-uri", "bolt://127.0.0.1:1")
    assert result.exit_code == 1
    assert "no Neo4j answers at bolt://127.0.0.1:1" in result.stdout


def severities(**given) -> list[str]:
    return [one.severity for one in doctor.listening(config.load({}, **given))]


def test_who_could_ask_is_looked_at(tmp_path):
    keys = tmp_path / "keys"
    assert severities() == ["ok"]
    assert severities(host="0.0.0.0") == ["problem"]
    assert severities(keys_file=keys) == ["problem"]
    keys.write_text("acme boss nothing\n")
    assert severities(keys_file=keys) == ["problem"]
    keys.write_text("# nobody yet\n")
    assert severities(keys_file=keys) == ["note"]
    keys.write_text(f"acme agent {hashlib.sha256(b'k').hexdigest()}\n")
    keys.chmod(0o600)
    assert severities(keys_file=keys, host="0.0.0.0") == ["ok"]
    keys.chmod(0o660)
    assert severities(keys_file=keys) == ["ok", "warning"]
    keys.chmod(0o606)
    assert severities(keys_file=keys) == ["problem"]


def test_keys_that_have_expired_or_soon_will_are_told(tmp_path):
    keys = tmp_path / "keys"
    now, lines = datetime.now(UTC), []
    for name, days in (("long", 90), ("soon", 3), ("gone", -1)):
        digest = hashlib.sha256(name.encode()).hexdigest()
        until = (now + timedelta(days=days)).isoformat(timespec="seconds")
        lines.append(f"acme agent {digest} expires={until}\n")
    keys.write_text("".join(lines))
    keys.chmod(0o600)
    _, gone, soon = doctor.listening(config.load({}, keys_file=keys))
    assert (gone.severity, soon.severity) == ("note", "warning")
    assert hashlib.sha256(b"gone").hexdigest()[:8] in gone.what
    assert hashlib.sha256(b"soon").hexdigest()[:8] in soon.what
    assert "graphmem keys create" in soon.remedy


def test_a_keys_file_that_cannot_be_used_is_named_with_its_line(tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("acme boss nothing\n")
    [finding] = doctor.listening(config.load({}, keys_file=keys))
    assert "line 1: the role is one of" in finding.what
    assert finding.remedy == "mend GRAPHMEM_KEYS_FILE"


def test_a_limits_file_that_cannot_be_used_is_a_problem_with_its_line(tmp_path, invoke, finds):
    file = tmp_path / "limits.txt"
    assert doctor.limits(config.load({})) == []
    file.write_text("lim memories=10\n")
    assert [one.severity for one in doctor.limits(config.load({}, limits_file=file))] == ["ok"]
    file.write_text("lim memories=abc\n")
    [finding] = doctor.limits(config.load({}, limits_file=file))
    assert finding.severity == "problem"
    assert f"{file}, line 1: " in finding.what
    assert finding.remedy == "mend GRAPHMEM_LIMITS_FILE"
    finds("ok")
    for given in (file, tmp_path / "none"):
        result = invoke("doctor", "--limits-file", str(given))
        assert result.exit_code == 1
        assert "limits: GRAPHMEM_LIMITS_FILE cannot be used: " in result.stdout
