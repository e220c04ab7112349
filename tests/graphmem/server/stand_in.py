"""A substitute for java and Neo4j: listens on the address in neo4j.conf, and ends on request.

It is copied to a Java home's bin/java after a line that names the interpreter. JAVA_STAND_IN selects its
misbehaviour.
"""

import os
import signal
import socket
import sys
import time
from pathlib import Path

if "--list-modules" in sys.argv:
    sys.stdout.write("java.base@25\n")
    sys.exit()

mood = os.environ.get("JAVA_STAND_IN", "")
if mood == "dies":
    sys.stdout.write(
        "WARNING: something\nCould not start:\n\tat org.neo4j.Somewhere\nbecause of this\n"
    )
    sys.exit(1)
if mood == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
home = next(argument[11:] for argument in sys.argv if argument.startswith("--home-dir="))
with Path(home, "conf", "neo4j.conf").open() as conf:
    [address] = [line for line in conf if line.startswith("server.bolt.listen_address=")]
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
try:
    listener.bind(("127.0.0.1", int(address.rpartition(":")[2])))
except OSError as fault:
    sys.stdout.write(f"java.net.BindException: {fault.strerror}\n")
    sys.exit(1)
if mood != "mute":
    listener.listen()
while True:
    time.sleep(60)
