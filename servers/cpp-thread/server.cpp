// A TCP echo server: a thread per connection, blocking calls in each.
#include <limits.h>
#include <netdb.h>
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

int listen_on(const char* host, const char* port) {
    const std::string where = std::string("cannot listen on ") + host + ", port " + port;
    addrinfo hints{}, *address = nullptr;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    if (const int error = ::getaddrinfo(host, port, &hints, &address)) {
        std::fprintf(stderr, "%s: %s\n", where.c_str(), ::gai_strerror(error));
        std::exit(1);
    }
    const int fd = ::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) die(where);
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    // Accepted sockets inherit this: no system call per connection.
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::bind(fd, address->ai_addr, address->ai_addrlen) < 0) die(where);
    ::freeaddrinfo(address);
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
    if (argc != 3) {
        std::fprintf(stderr, "usage: %s HOST PORT\n", argv[0]);
        return 2;
    }
    const int listener = listen_on(argv[1], argv[2]);
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
