"""The settings: given, from the environment, or the default; an error names the variable."""

import re
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

import graphmem
from graphmem import config
from graphmem.config import Settings, variable
from graphmem.errors import SettingError


def test_without_anything_the_defaults_hold() -> None:
    settings = config.load({})

    assert (settings.host, settings.port) == ("127.0.0.1", 8000)
    unset = (settings.neo4j_uri, settings.keys_file, settings.embedding_model)
    assert unset == (None, None, None)
    assert (settings.neo4j_user, settings.neo4j_password) == ("neo4j", "")
    assert settings.embedding_threads == 1
    assert settings.data_dir.is_absolute()
    assert settings.cache_dir.is_absolute()


def test_every_setting_comes_from_its_variable() -> None:
    settings = config.load(
        {
            "GRAPHMEM_PORT": "0",
            "GRAPHMEM_NEO4J_URI": "bolt://db:7687",
            "GRAPHMEM_NEO4J_HEAP": "512m",
            "GRAPHMEM_NEO4J_START_SECONDS": "5",
            "GRAPHMEM_LOG_LEVEL": "WARNING",
            "GRAPHMEM_KEYS_FILE": "keys",
            "PORT": "1",
        }
    )

    assert settings.port == 0
    assert settings.neo4j_uri == "bolt://db:7687"
    assert settings.neo4j_heap == "512m"
    assert settings.neo4j_start_seconds == 5
    assert settings.log_level == "WARNING"
    assert settings.keys_file == Path("keys").absolute()


def test_the_clients_to_read_are_separated_by_commas() -> None:
    assert config.load({"GRAPHMEM_READS": "team, handbook"}).reads == ("team", "handbook")
    assert config.load({}, reads=["team"]).reads == ("team",)
    assert config.load({"GRAPHMEM_READS": "team"}, reads=[]).reads == ()
    with pytest.raises(SettingError, match="GRAPHMEM_READS: expected a list, got a whole number"):
        config.load({}, reads=5)
    for wrong in ("*", "team,*", "team,", "a b", ",".join("abcdefghi")):
        with pytest.raises(SettingError, match=r"GRAPHMEM_READS: .*written like team"):
            config.load({"GRAPHMEM_READS": wrong})


def test_a_variable_is_named_after_its_setting() -> None:
    assert variable("neo4j_uri") == "GRAPHMEM_NEO4J_URI"


@pytest.mark.parametrize("field", [field.name for field in msgspec.structs.fields(Settings)])
def test_an_empty_variable_counts_as_unset(field: str) -> None:
    assert config.load({variable(field): ""}) == config.load({})


def test_what_is_given_comes_before_the_environment() -> None:
    environ = {"GRAPHMEM_PORT": "9000", "GRAPHMEM_HOST": "localhost"}

    settings = config.load(environ, port=9001, host=None)

    assert (settings.port, settings.host) == (9001, "localhost")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("neo4j_urii", "neo4j_urii: there is no such setting: perhaps neo4j_uri"),
        ("data_directory", "data_directory: there is no such setting: perhaps data_dir"),
        ("qqq", "qqq: there is no such setting: graphmem.config.Settings lists all"),
    ],
)
def test_a_mistyped_setting_opens_no_other_store(name: str, sentence: str) -> None:
    mistyped: Any = {name: "bolt://db:7687"}

    with pytest.raises(SettingError) as refused:
        graphmem.open(**mistyped)

    assert (str(refused.value), refused.value.name) == (sentence, name)


def test_the_environment_is_the_processes_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHMEM_PORT", "9002")

    assert config.load().port == 9002


@pytest.mark.parametrize("value", ["~/memories", Path("~/memories")])
def test_a_tilde_is_the_home_folder(
    value: str | Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    assert config.load({}, data_dir=value).data_dir == tmp_path / "memories"
    assert config.load({"GRAPHMEM_DATA_DIR": str(value)}).data_dir == tmp_path / "memories"


@pytest.mark.parametrize("name", ["XDG_DATA_HOME", "XDG_CACHE_HOME"])
@pytest.mark.parametrize("empty", ["", " "])
def test_an_empty_xdg_variable_counts_as_unset(
    name: str, empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(name, raising=False)
    unset = config.load({})

    monkeypatch.setenv(name, empty)

    assert config.load({}) == unset
    assert config.load({}).data_dir.is_absolute()


def test_an_xdg_variable_is_followed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    assert config.load({}).data_dir == tmp_path / "graphmem"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GRAPHMEM_PORT", "eighty"),
        ("GRAPHMEM_PORT", "65536"),
        ("GRAPHMEM_PORT", "-1"),
        ("GRAPHMEM_NEO4J_HEAP", "much"),
        ("GRAPHMEM_NEO4J_PAGE_CACHE", "512"),
        ("GRAPHMEM_NEO4J_START_SECONDS", "0"),
        ("GRAPHMEM_EMBEDDING_THREADS", "65"),
        ("GRAPHMEM_KEEP_ACCESSES_DAYS", "-1"),
        ("GRAPHMEM_KEEP_RUNS_DAYS", "36501"),
        ("GRAPHMEM_TURN_CACHE_MB", "4097"),
        ("GRAPHMEM_LOG_LEVEL", "loud"),
    ],
)
def test_an_error_names_the_variable(name: str, value: str) -> None:
    with pytest.raises(SettingError, match=f"^{name}: ") as caught:
        config.load({name: value})

    assert caught.value.name == name
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        (
            "GRAPHMEM_PORT",
            "eighty",
            "expected a whole number, got a text; it is a whole number from 0 to 65,535",
        ),
        (
            "GRAPHMEM_TURN_CACHE_MB",
            "4097",
            "expected a whole number <= 4096; it is a whole number from 0 to 4,096",
        ),
        (
            "GRAPHMEM_NEO4J_HEAP",
            "much",
            "does not have the form that it must have; it is written like 512m or 2g",
        ),
        (
            "GRAPHMEM_LLM_URL",
            "example.org",
            "does not have the form that it must have; it is written like http://127.0.0.1:11434/v1 or "
            "https://example.org/v1",
        ),
        (
            "GRAPHMEM_LOG_LEVEL",
            "loud",
            "does not have the form that it must have; it is written like debug or info or warning or error",
        ),
        ("GRAPHMEM_JOBS", "maybe", "invalid enum value 'maybe'; it is one of on, off"),
    ],
)
def test_an_error_says_in_words_what_the_value_may_be(name: str, value: str, sentence: str) -> None:
    with pytest.raises(SettingError) as caught:
        config.load({name: value})

    assert str(caught.value) == f"{name}: {sentence}"


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("NEO4J_URI", "bolt://neo4j:HUNTER2@127.0.0.1:1", "GRAPHMEM_NEO4J_PASSWORD"),
        ("NEO4J_URI", "neo4j+s://neo4j:HUNTER2/1@db", "GRAPHMEM_NEO4J_USER and GRAPHMEM_NEO4J_PAS"),
        ("NEO4J_URI", "neo4j:HUNTER2@db", "GRAPHMEM_NEO4J_PASSWORD"),
        ("LLM_URL", "http://u:HUNTER2@127.0.0.1:1/v1", "GRAPHMEM_LLM_KEY"),
        ("LLM_URL", "https://HUNTER2@example.org/v1", "GRAPHMEM_LLM_KEY"),
    ],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(name, value, remedy) -> None:
    with pytest.raises(SettingError, match=f"^GRAPHMEM_{name}: .*: put them into .*{remedy}") as e:
        config.load({f"GRAPHMEM_{name}": value})
    assert "HUNTER2" not in str(e.value)
    with pytest.raises(SettingError):
        config.load({}, **{name.lower(): value})


def test_a_path_of_an_address_may_have_an_at() -> None:
    url = "https://example.org/projects/a@2/v1"
    assert config.load({"GRAPHMEM_LLM_URL": url}).llm_url == url


@pytest.mark.parametrize(
    ("text", "count"),
    [("512m", 2**29), ("1g", 2**30), ("512.00MiB", 2**29), ("1.50GiB", 3 * 2**29), ("64k", 2**16)],
)
def test_a_size_is_read_as_java_and_neo4j_write_it(text, count):
    assert config.size(text) == count


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        (
            "NEO4J_URI",
            "nonsense",
            "does not have the form that it must have; it is written like bolt",
        ),
        (
            "NEO4J_URI",
            "http://x",
            "does not have the form that it must have; it is written like bolt",
        ),
        (
            "NEO4J_URI",
            "bolt:// ",
            "has no host, or a port that is none; it is written like bolt://",
        ),
        ("NEO4J_URI", "bolt://db:0", "has no host, or a port that is none"),
        ("NEO4J_URI", "bolt://[db", "has no host, or a port that is none"),
        ("LLM_URL", "http:// /v1", "has no host, or a port that is none; it is written like http:"),
        ("LLM_URL", "http://:80/v1", "has no host, or a port that is none"),
        ("LLM_URL", "http://h:99999/v1", "has no host, or a port that is none"),
        (
            "MAVEN_REPOSITORY",
            "nonsense",
            "does not have the form .* written like https://example.org",
        ),
        ("MAVEN_REPOSITORY", "https://", "has no host, or a port that is none"),
    ],
)
def test_what_is_no_address_is_refused_in_a_sentence(name, value, sentence) -> None:
    with pytest.raises(SettingError, match=f"^GRAPHMEM_{name}: {sentence}"):
        config.load({f"GRAPHMEM_{name}": value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("neo4j_uri", "bolt://[::1]:7687"),
        ("neo4j_uri", "neo4j+ssc://db"),
        ("neo4j_uri", "neo4j+s://xxxxxxxx.databases.neo4j.io/"),
        ("llm_url", "https://example.org:8443/openai/v1?version=1"),
        ("maven_repository", "http://me:secret@127.0.0.1:8081/repository/maven/"),
    ],
)
def test_addresses_of_all_forms_are_taken(field, value) -> None:
    assert getattr(config.load({variable(field): value}), field) == value


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("HEAP", "0m", "0m is less than Neo4j needs: give it 128m or more"),
        ("HEAP", "1k", "1k is less than Neo4j needs: give it 128m or more"),
        ("HEAP", "127m", "127m is less than Neo4j needs"),
        ("HEAP", "9g", "9g is more than this machine has: give it less than 8192m"),
        ("HEAP", "999999999g", "999999999g is more than this machine has"),
        ("HEAP", "9" * 400 + "g", "does not have the form .* written like 512m or 2g"),
        ("PAGE_CACHE", "0k", "0k is less than Neo4j needs: give it 1m or more"),
        ("PAGE_CACHE", "9999g", "9999g is more than this machine has"),
    ],
)
def test_a_memory_that_neo4j_cannot_have_is_refused(name, value, sentence, monkeypatch) -> None:
    monkeypatch.setattr(config, "machine_memory", lambda: 8 * 2**30)
    settings = {f"GRAPHMEM_NEO4J_{name}": value}
    with pytest.raises(SettingError, match=f"^GRAPHMEM_NEO4J_{name}: {sentence}"):
        config.load(settings)
    config.load({f"GRAPHMEM_NEO4J_{name}": "8g"})


def test_the_memory_of_another_machine_is_its_own_matter(monkeypatch) -> None:
    monkeypatch.setattr(config, "machine_memory", lambda: 2**30)
    assert config.load({}, neo4j_uri="bolt://db", neo4j_heap="8g").neo4j_heap == "8g"


def test_an_empty_optional_setting_is_unset_and_a_scheme_is_read_in_any_case() -> None:
    unset = config.load({}, neo4j_uri="", maven_repository="")
    assert (unset.neo4j_uri, unset.maven_repository) == (None, None)
    assert config.load({}, neo4j_uri="BOLT+S://db").neo4j_uri == "BOLT+S://db"


NUMBERS = [
    field.name for field in msgspec.structs.fields(Settings) if get_args(field.type)[0] is int
]


@pytest.mark.parametrize("value", ["x", "-1", "1.5", "9" * 400, "\udcff"])
@pytest.mark.parametrize("field", NUMBERS)
def test_a_number_out_of_its_range_names_both_ends(field: str, value: str) -> None:
    with pytest.raises(SettingError) as caught:
        config.load({variable(field): value})

    assert re.search(r"; it is a whole number from [01] to [\d,]+$", str(caught.value))


def test_what_is_given_wrongly_names_the_variable_too() -> None:
    with pytest.raises(SettingError, match="GRAPHMEM_PORT"):
        config.load({}, port=65536)


def test_every_setting_says_what_it_is_for() -> None:
    for name, kind in get_type_hints(Settings, include_extras=True).items():
        assert any(getattr(meta, "description", None) for meta in get_args(kind)[1:]), name
