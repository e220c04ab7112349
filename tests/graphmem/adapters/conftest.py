"""Shared by the tests of the adapters: a client's memory in each of its four forms."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
import uvicorn

import graphmem
from graphmem.adapters.access import AnyMemory
from graphmem.client import Graphmem
