"""The memory of the tests that does not keep tenants apart, and wears out after the questions for leaks."""

from tests.bench import fake_peer


class Peer(fake_peer.Peer):
    """Finds every tenant's messages, and fails after the questions for leaks."""

    keeps_apart = False
    searches = 40
