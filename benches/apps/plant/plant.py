"""Burns PLANT_US microseconds of CPU time of the thread that serves each request."""

import os
import time

PLANT_NS = int(float(os.environ.get("PLANT_US", 0)) * 1000)


def burn():
    end = time.thread_time_ns() + PLANT_NS
    while time.thread_time_ns() < end:
        pass


def wsgi(app):
    """A WSGI application with the plant in front of it."""
    if not PLANT_NS:
        return app

    def planted(environ, start_response):
        burn()
        return app(environ, start_response)

    return planted


def asgi(app):
    """An ASGI application with the plant in front of it."""
    if not PLANT_NS:
        return app

    async def planted(scope, receive, send):
        if scope["type"] == "http":
            burn()
        await app(scope, receive, send)

    return planted
