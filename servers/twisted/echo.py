"""A TCP echo server on Twisted: echo.py HOST PORT."""

import sys

from twisted.internet import reactor  # on Linux, the one that uses epoll
from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.internet.protocol import Factory, Protocol
from zope.interface import implementer


@implementer(IHalfCloseableProtocol)
class Echo(Protocol):
    def connectionMade(self) -> None:
        self.transport.setTcpNoDelay(True)
        # What is written to the transport comes from the transport: it stops reading while
        # the client does not take its answers.
        self.transport.registerProducer(self.transport, streaming=True)

    def dataReceived(self, data: bytes) -> None:
        self.transport.write(data)

    def readConnectionLost(self) -> None:
        self.transport.unregisterProducer()
        self.transport.loseConnection()  # once everything written has been sent

    def writeConnectionLost(self) -> None:
        """Demanded by the interface; this side is never closed alone."""


host, port = sys.argv[1], int(sys.argv[2])
reactor.listenTCP(port, Factory.forProtocol(Echo), backlog=4096, interface=host)
reactor.run()
