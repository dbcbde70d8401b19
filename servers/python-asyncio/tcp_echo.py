import asyncio


class TcpEcho(asyncio.Protocol):
    """Sends back what arrives; a peer that does not read is not read from.

    asyncio sets TCP_NODELAY. The default eof_received closes the transport once
    everything written has been sent, which is what a half-close asks for.
    """

    def connection_made(self, transport):
        self.data_received = transport.write  # no Python frame per message
        self.pause_writing = transport.pause_reading
        self.resume_writing = transport.resume_reading
