import asyncio
import re
import time
from email.utils import formatdate

MAX_HEAD = 16 * 1024
LINGER = 2  # seconds

TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
REQUEST_LINE = rb"(" + TOKEN + rb") ([!-~\x80-\xff]++) HTTP/1\.([01])\r\n"
FIELD = TOKEN + rb":[\t -~\x80-\xff]*+\r\n"

# One match validates a whole head at the speed of C. The quantifiers are possessive: a head
# that does not match is refused in linear time.
match_head = re.compile(REQUEST_LINE + rb"((?:" + FIELD + rb")*+)\r\n").match
match_request_line = re.compile(REQUEST_LINE).match
find_end_of_head = re.compile(rb"\n\r?\n").search
find_fields = re.compile(
    rb"^(host|connection|content-length|transfer-encoding):[\t ]*(.*?)[\t ]*\r$", re.I | re.M
).findall


class Refused(Exception):
    pass


BAD_REQUEST = Refused("400 Bad Request")
TOO_LARGE = Refused("431 Request Header Fields Too Large")
NOT_IMPLEMENTED = Refused("501 Not Implemented")


class Clock:
    """The time as an IMF-fixdate, formatted once a second."""

    second = None

    def date(self):
        now = int(time.time())
        if now != self.second:
            self.second = now
            self.text = formatdate(now, usegmt=True).encode()
        return self.text


clock = Clock()


def interpret(fields, http11):
    """Returns whether the connection persists and how long the request's body is."""
    keep_alive, length, hosts = http11, None, 0
    for name, value in find_fields(fields):
        name = name.lower()
        if name == b"host":
            hosts += 1
        elif name == b"connection":
            options = [option.strip() for option in value.lower().split(b",")]
            keep_alive = b"close" not in options and (keep_alive or b"keep-alive" in options)
        elif name == b"content-length":
            if not value.isdigit() or length not in (None, int(value)):
                raise BAD_REQUEST
            length = int(value)
        else:
            raise NOT_IMPLEMENTED
    if hosts > 1 or (http11 and hosts == 0):
        raise BAD_REQUEST
    return keep_alive, length or 0


class HttpEcho(asyncio.Protocol):
    """GET /any/path -> "<path> at <date>", HTTP/1.0 and 1.1, keep-alive and pipelining."""

    def __init__(self):
        self.pending = b""  # the beginning of a request whose end has not arrived
        self.body = 0  # bytes of a request's body still to be skipped
        self.ended = False

    def connection_made(self, transport):
        self.transport = transport
        self.pause_writing = transport.pause_reading
        self.resume_writing = transport.resume_reading

    def data_received(self, data):
        if self.ended:
            return
        if self.pending:
            data = self.pending + data
        answers = []
        try:
            self.pending = self.answer_all(data, answers)
        except Refused as refusal:
            status = str(refusal).encode()
            answers.append(b"HTTP/1.1 %b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % status)
            self.ended = True
        if answers:
            self.transport.write(b"".join(answers))
        if self.ended:
            # Closing at once would reset the connection if more input is under way.
            self.transport.write_eof()
            asyncio.get_running_loop().call_later(LINGER, self.transport.close)

    def answer_all(self, data, answers):
        """Appends an answer for every complete request; returns what is left of the input."""
        at = 0
        while True:
            skipped = min(self.body, len(data) - at)
            at += skipped
            self.body -= skipped
            while data.startswith(b"\r\n", at):  # RFC 9112, 2.2
                at += 2
            if self.body or at == len(data):
                return data[at:]
            head = match_head(data, at)
            if not head or head.end() - at > MAX_HEAD:
                return check_incomplete(data[at:])
            at = head.end()
            method, target, minor, fields = head.groups()
            http11 = minor == b"1"
            keep_alive, self.body = interpret(fields, http11)
            body = b"%b at %b" % (target, clock.date())
            connection = b""  # HTTP/1.1 keep-alive goes without saying
            if not keep_alive:
                connection = b"Connection: close\r\n"
            elif not http11:
                connection = b"Connection: keep-alive\r\n"
            answers.append(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n%b\r\n%b"
                % (len(body), connection, b"" if method == b"HEAD" else body)
            )
            if not keep_alive:
                self.ended = True
                return b""


def check_incomplete(head):
    """Returns the beginning of a head if it can still become a good one."""
    end = find_end_of_head(head)
    if (end.end() if end else len(head)) > MAX_HEAD:
        raise TOO_LARGE
    if end or (b"\n" in head and not match_request_line(head)):
        raise BAD_REQUEST
    return head
