// A TCP echo server: a thread per connection, blocking calls in each.
#include <arpa/inet.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <thread>

namespace {

using namespace std::chrono_literals;

constexpr size_t kBuffer = 32 * 1024;

[[noreturn]] void die(const std::string& what) {
    std::fprintf(stderr, "%s: %s\n", what.c_str(), std::strerror(errno));
    std::exit(1);
}

int listen_on(int port) {
    const std::string where = "cannot listen on 127.0.0.1:" + std::to_string(port);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) die(where);
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    // Accepted sockets inherit this: no system call per connection.
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) < 0) die(where);
    if (::listen(fd, 4096) < 0) die(where);
    return fd;
}

// std::thread takes no attributes. By default a stack reserves 8 MiB, and thousands of those
// run into limits on memory.
void use_small_stacks() {
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    const size_t size = std::max<size_t>(64 * 1024, PTHREAD_STACK_MIN + kBuffer);
    errno = ::pthread_attr_setstacksize(&attributes, size);
    if (errno == 0) errno = ::pthread_setattr_default_np(&attributes);
    if (errno != 0) die("cannot set the size of stacks");
}

void echo(int fd) {
    char buffer[kBuffer];
    for (;;) {
        const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
        // A blocking send takes all of it, unless the connection breaks.
        if (n <= 0 || ::send(fd, buffer, n, MSG_NOSIGNAL) != n) break;
    }
    ::close(fd);
}

}  // namespace

int main(int argc, char** argv) {
    const int port = argc == 2 ? std::atoi(argv[1]) : 0;
    if (port < 1 || port > 65535) {
        std::fprintf(stderr, "usage: %s PORT\n", argv[0]);
        return 2;
    }
    const int listener = listen_on(port);
    use_small_stacks();
    for (;;) {
        const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0) {
            std::this_thread::sleep_for(1ms);  // out of descriptors: until one is free
            continue;
        }
        try {
            std::thread(echo, fd).detach();
        } catch (const std::system_error&) {
            ::close(fd);  // no more threads: this connection has to go
        }
    }
}
