# graphmem's service with its embedding model inside: nothing is fetched when it runs.
#
# `docker compose up` builds and runs it beside a Neo4j; tests/test_compose.py runs these steps in a
# clean folder, which is why nothing here needs root's own tools.

# A release is built with `--build-arg PYTHON=python:3.13-slim@sha256:…`: its workflow looks the digest up.
ARG PYTHON=python:3.13-slim

FROM ${PYTHON} AS build

WORKDIR /build
ENV GRAPHMEM_CACHE_DIR=/opt/cache
COPY requirements/build.txt requirements/runtime.txt requirements/
RUN python -m venv /opt/build
RUN /opt/build/bin/python -m pip install --disable-pip-version-check --no-cache-dir --require-hashes --only-binary :all: -r requirements/build.txt
RUN python -m venv /opt/graphmem
RUN /opt/graphmem/bin/python -m pip install --disable-pip-version-check --no-cache-dir --require-hashes --only-binary :all: -r requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY graphmem graphmem
COPY api api
COPY cypher cypher
COPY seed seed
RUN /opt/build/bin/python -m hatchling build -t wheel -d dist
RUN /opt/graphmem/bin/python -m pip install --disable-pip-version-check --no-cache-dir --no-deps --no-index dist/*.whl
RUN /opt/graphmem/bin/graphmem fetch embedding
RUN mkdir -p -m 700 /var/lib/graphmem

FROM ${PYTHON}

COPY --from=build /opt/graphmem /opt/graphmem
COPY --from=build /opt/cache/models /opt/cache/models
# A named volume takes its first owner from here.
COPY --from=build --chown=10001:10001 /var/lib/graphmem /var/lib/graphmem
ENV PATH=/opt/graphmem/bin:$PATH
ENV PYTHONUNBUFFERED=1
ENV HOME=/var/lib/graphmem
ENV GRAPHMEM_CACHE_DIR=/opt/cache
ENV GRAPHMEM_DATA_DIR=/var/lib/graphmem
ENV GRAPHMEM_PORT=8000
WORKDIR /var/lib/graphmem
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:' + os.environ['GRAPHMEM_PORT'] + '/health/ready', timeout=4)"]
ENTRYPOINT ["graphmem"]
# Beyond the loopback it refuses to listen without GRAPHMEM_KEYS_FILE.
CMD ["serve", "--host", "0.0.0.0"]
