"""A WSGI application that answers "<path> at <date>"."""

from collections.abc import Callable
from email.utils import formatdate
from typing import Any


def application(environ: dict[str, Any], start_response: Callable[..., object]) -> list[bytes]:
    # Gunicorn's RAW_URI is the target as it was sent; PATH_INFO is decoded.
    body = f"{environ['RAW_URI']} at {formatdate(usegmt=True)}".encode("latin-1")
    start_response(
        "200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))]
    )
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]
