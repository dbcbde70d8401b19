// WebSocket echo on Boost.Beast: server HOST PORT WORKERS
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// Boost 1.74 uses std::exchange without including it.
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <cstdlib>
#include <exception>
#include <iostream>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using asio::use_awaitable;
using asio::ip::tcp;

// Pings and close frames are answered by the library while it reads.
asio::awaitable<void> echo(tcp::socket socket) {
    websocket::stream<tcp::socket> stream(std::move(socket));
    stream.read_message_max(0);  // no limit
    stream.auto_fragment(false);  // each message goes back in one frame
    beast::flat_buffer buffer;
    try {
        co_await stream.async_accept(use_awaitable);
        for (;;) {
            co_await stream.async_read(buffer, use_awaitable);
            stream.binary(stream.got_binary());
            co_await stream.async_write(buffer.data(), use_awaitable);
            buffer.consume(buffer.size());
        }
    } catch (const boost::system::system_error&) {
        // The client has closed or broken the connection, or the protocol.
    }
}

asio::awaitable<void> accept(tcp::acceptor acceptor) {
    for (;;) {
        boost::system::error_code error;
        auto token = asio::redirect_error(use_awaitable, error);
        tcp::socket socket = co_await acceptor.async_accept(token);
        // Out of descriptors, most likely: go on until a connection ends.
        if (!error) asio::co_spawn(acceptor.get_executor(), echo(std::move(socket)), asio::detached);
    }
}

tcp::acceptor listen(asio::io_context& loop, const tcp::endpoint& where, bool share_port) {
    tcp::acceptor acceptor(loop);
    acceptor.open(where.protocol());
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    if (share_port) {
        const int on = 1;
        ::setsockopt(acceptor.native_handle(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    }
    // Accepted sockets inherit this.
    acceptor.set_option(tcp::no_delay(true));
    acceptor.bind(where);
    return acceptor;
}

void serve(const tcp::endpoint& where, bool share_port) {
    asio::io_context loop(1);
    tcp::acceptor acceptor = listen(loop, where, share_port);
    acceptor.listen(4096);
    asio::co_spawn(loop, accept(std::move(acceptor)), asio::detached);
    loop.run();
}

int main(int argc, char** argv) try {
    if (argc != 4) {
        std::cerr << "usage: server HOST PORT WORKERS\n";
        return 2;
    }
    const tcp::endpoint where(asio::ip::make_address(argv[1]), std::atoi(argv[2]));
    const int workers = std::atoi(argv[3]);
    if (workers > 1) {
        // SO_REUSEPORT would let us join a port that another server of ours holds, so a bind without it comes first.
        {
            asio::io_context loop;
            listen(loop, where, false);
        }
        for (int i = 0; i < workers; ++i) {
            if (::fork() == 0) {
                ::prctl(PR_SET_PDEATHSIG, SIGTERM);
                serve(where, true);
            }
        }
        // The whole ends with the first that does.
        ::wait(nullptr);
        return 1;
    }
    serve(where, false);
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
