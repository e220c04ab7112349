"""neo4j.conf says what must hold on every private server."""

from graphmem.server.command import SETTINGS, conf


def test_it_listens_on_the_loopback_only() -> None:
    lines = conf(7999, "64m").splitlines()

    assert "server.bolt.listen_address=127.0.0.1:7999" in lines
    assert "server.bolt.advertised_address=127.0.0.1:7999" in lines
    assert "server.http.enabled=false" in lines
    assert "server.https.enabled=false" in lines
    assert "server.memory.pagecache.size=64m" in lines


def test_every_setting_is_written_once() -> None:
    names = [line.partition("=")[0] for line in conf(7999, "64m").splitlines()]

    assert len(names) == len(set(names))
    assert set(SETTINGS) < set(names)


def test_both_forms_of_load_csv_are_closed() -> None:
    assert SETTINGS["dbms.security.allow_csv_import_from_file_urls"] == "false"
    assert SETTINGS["internal.dbms.cypher_ip_blocklist"] == "0.0.0.0/0,::/0"


def test_a_transaction_has_only_so_much_time_and_memory() -> None:
    assert SETTINGS["db.transaction.timeout"] == "120s"
    assert SETTINGS["db.memory.transaction.max"] == "256m"


def test_authentication_is_never_turned_off() -> None:
    assert not any("auth_enabled" in name for name in SETTINGS)
