"""What is peculiar to object stores: keys in URIs, how long they are tried, what they say."""

from __future__ import annotations

import re
from typing import Any

import pyarrow.fs as pafs

from infra.errors import WrongInput

ACCEPTED = "a bucket that is there, an endpoint that answers, a key that may do this"
ATTEMPTS, CONNECT_SECONDS, ANSWER_SECONDS = 3, 5, 15
AWAY = re.compile(  # what is said while a store is out of reach or has too much to do
    "AWS Error (NETWORK_CONNECTION|SERVICE_UNAVAILABLE|SLOW_DOWN|THROTTLING|INTERNAL_FAILURE)"
)
KEY = re.compile(r"://[^/@\s]*(:[^@\s]*)?@")  # secrets may have slashes in them


def without_key(text: str) -> str:
    """A URI, or a text with URIs, without the keys that they may carry."""
    return KEY.sub("://", text)


def impatient(fs: Any) -> Any:
    """The same file system; S3 with limits to how long it is tried, which a URI cannot give.

    Without them an endpoint that does not answer is tried for minutes.
    """
    if not isinstance(fs, pafs.S3FileSystem):
        return fs
    _, (options,) = fs.__reduce__()  # the one way to read back what the URI said
    return pafs.S3FileSystem(
        **{
            **options,
            "connect_timeout": CONNECT_SECONDS,
            "request_timeout": ANSWER_SECONDS,
            "retry_strategy": pafs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
        }
    )


def is_away(error: OSError) -> bool:
    return bool(AWAY.search(str(error)))


def told(error: OSError) -> str:
    """The end of what an object store says: the kind of error and its message."""
    text = " ".join(str(error).split())
    return text[text.find("AWS Error") :] if "AWS Error" in text else text


def refusal(error: OSError) -> WrongInput | None:
    """What an object store refused or could not do, in a line; None if it was another's error."""
    return WrongInput("store", told(error), ACCEPTED) if "AWS Error" in str(error) else None
