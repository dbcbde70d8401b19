// A TCP echo server on libev: one event loop per process.
#include <ev++.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

[[noreturn]] void die(const std::string& what) {
    std::fprintf(stderr, "%s: %s\n", what.c_str(), std::strerror(errno));
    std::exit(1);
}

// Lives until its peer has ended or broken the connection, then deletes itself. One of its
// watchers is active at a time: while the peer does not take its answers, nothing more is
// read, and so nothing is left to be sent when the peer's FIN is.
class Connection {
public:
    explicit Connection(int fd) : fd_(fd) {
        readable_.set<Connection, &Connection::read>(this);
        writable_.set<Connection, &Connection::write>(this);
        readable_.set(fd_, ev::READ);
        writable_.set(fd_, ev::WRITE);
        readable_.start();
    }

private:
    ~Connection() {
        readable_.stop();
        writable_.stop();
        ::close(fd_);
    }

    void read() {
        static char buffer[64 * 1024];  // for all connections: it is empty whenever one is left
        const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
        if (n > 0) {
            send({buffer, static_cast<size_t>(n)});
        } else if (n == 0 || errno != EAGAIN) {
            delete this;
        }
    }

    void write() { send(std::exchange(unsent_, {})); }

    void send(std::string_view data) {
        const ssize_t n = ::send(fd_, data.data(), data.size(), MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN) return delete this;
        unsent_ = data.substr(std::max<ssize_t>(n, 0));
        // Starting an active watcher and stopping a stopped one costs nothing.
        if (unsent_.empty()) {
            writable_.stop();
            readable_.start();
        } else {
            readable_.stop();
            writable_.start();
        }
    }

    const int fd_;
    ev::io readable_, writable_;
    std::string unsent_;
};

void accept_all(ev::io& listener, int) {
    for (;;) {
        const int fd = ::accept4(listener.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return;  // whatever the reason: if any are waiting, the loop comes back
        new Connection(fd);
    }
}

int bind_to(const char* host, const char* port, bool share_port) {
    const std::string where = std::string("cannot listen on ") + host + ", port " + port;
    addrinfo hints{}, *address = nullptr;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    if (const int error = ::getaddrinfo(host, port, &hints, &address)) {
        std::fprintf(stderr, "%s: %s\n", where.c_str(), ::gai_strerror(error));
        std::exit(1);
    }
    const int fd = ::socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) die(where);
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (share_port) ::setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    // Accepted sockets inherit this: no system call per connection.
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::bind(fd, address->ai_addr, address->ai_addrlen) < 0) die(where);
    ::freeaddrinfo(address);
    return fd;
}

// One listener for each worker, between which the kernel spreads the connections.
std::vector<int> listen_on(const char* host, const char* port, int workers) {
    // SO_REUSEPORT would let us join a port that another server of ours holds, so a bind
    // without it comes first.
    std::vector<int> listeners{bind_to(host, port, false)};
    if (workers > 1) {
        ::close(listeners[0]);
        listeners.resize(workers);
        for (int& listener : listeners) listener = bind_to(host, port, true);
    }
    // All listen before the first worker runs: none is missing from the spread.
    for (int listener : listeners) {
        if (::listen(listener, 4096) < 0) die("listen");
    }
    return listeners;
}

// Forks until there are `workers` processes; returns this one's number, 0 in the parent.
int fork_workers(int workers) {
    const pid_t parent = ::getpid();
    for (int i = 1; i < workers; ++i) {
        const pid_t child = ::fork();
        if (child < 0) die("fork");
        if (child == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGTERM);
            if (::getppid() != parent) std::exit(1);  // it died before the line above
            return i;
        }
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const int workers = argc > 3 ? std::atoi(argv[3]) : 1;
    if (argc < 3 || workers < 1) {
        std::fprintf(stderr, "usage: %s HOST PORT [WORKERS]\n", argv[0]);
        return 2;
    }
    const std::vector<int> listeners = listen_on(argv[1], argv[2], workers);
    const int mine = fork_workers(workers);
    for (int i = 0; i < workers; ++i) {
        if (i != mine) ::close(listeners[i]);
    }
    ev::default_loop loop;  // made after the fork: nothing of it is shared
    ev::io listener;
    listener.set<accept_all>();
    listener.start(listeners[mine], ev::READ);
    loop.run();
}
