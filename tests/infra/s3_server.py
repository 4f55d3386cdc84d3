"""A small S3 server on the loopback interface, and the environment that leads to it."""

from __future__ import annotations

import logging
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

BUCKET = "studies"


@contextmanager
def s3_server() -> Iterator[str]:
    """The server's address; it has one bucket."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        address = "http://{}:{}".format(*server.get_host_and_port())
        ask(f"{address}/{BUCKET}", "PUT")
        yield address
    finally:
        server.stop()


def environment(address: str) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "an-id",
        "AWS_SECRET_ACCESS_KEY": "a-secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def ask(address: str, method: str, data: bytes = b"") -> bytes:
    plain = {"Content-Type": "text/plain"}
    request = urllib.request.Request(address, data=data, method=method, headers=plain)
    with urllib.request.urlopen(request, timeout=10) as answer:
        content: bytes = answer.read()
    return content
