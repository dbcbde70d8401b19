// One edge-triggered epoll loop per process; a protocol plugs in as a type.
//
// A protocol has, per connection,
//   std::string_view answer(std::string_view input)   what to send for these bytes; the view
//                                                     need only live until the next call
//   After after() const                               what to do once the answer is sent
#pragma once

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

enum class After {
    read_on,  // wait for more input
    linger,   // send FIN and discard input until the peer's FIN, so that no reset overtakes the answer
    close,
};

[[noreturn]] inline void die(const std::string& what) {
    std::fprintf(stderr, "%s: %s\n", what.c_str(), std::strerror(errno));
    std::exit(1);
}

inline int bind_to(const char* host, const char* port, bool share_port) {
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

template <class Protocol>
class EventLoop {
public:
    explicit EventLoop(int listener) : listener_(listener), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
        if (epoll_ < 0) die("epoll_create1");
        epoll_event event{};
        event.events = EPOLLIN;  // level-triggered, data.ptr is null: the listener
        if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event) < 0) die("epoll_ctl");
    }

    [[noreturn]] void run() {
        epoll_event events[512];
        for (;;) {
            const int n = ::epoll_wait(epoll_, events, 512, -1);
            for (int i = 0; i < n; ++i) {
                auto* connection = static_cast<Connection*>(events[i].data.ptr);
                if (!connection) {
                    accept_all();
                } else if (!serve(*connection, events[i].events)) {
                    ::close(connection->fd);
                    delete connection;
                }
            }
        }
    }

private:
    struct Connection {
        int fd;
        Protocol protocol;
        std::string unsent;  // what the peer did not take yet; nothing is read while it is not empty
        bool fin_sent = false;
    };

    // Everything is asked for once. EPOLLOUT costs nothing on the way: the kernel reports
    // an edge for it only after a write has found the socket full.
    static constexpr uint32_t kInterest = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    static constexpr uint32_t kPeerGone = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
    static constexpr int kReadsPerTurn = 16;  // 1 MiB, then the other connections have their turn

    void accept_all() {
        for (;;) {
            // Out of descriptors, the loop comes back here until one is free.
            const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (fd < 0) {
                if (errno == ECONNABORTED || errno == EINTR) continue;
                return;
            }
            auto* connection = new Connection{fd, {}, {}};
            epoll_event event{};
            event.events = kInterest;
            event.data.ptr = connection;
            if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) < 0) die("epoll_ctl");
        }
    }

    // False: close the connection.
    bool serve(Connection& c, uint32_t events) {
        if (!c.unsent.empty()) {
            const std::string rest = std::move(c.unsent);
            c.unsent.clear();
            if (!send(c, rest)) return false;
            if (!c.unsent.empty()) return true;
            if (!carry_on(c)) return false;
        } else if (!(events & (EPOLLIN | kPeerGone))) {
            return true;  // only writable, and there is nothing to write
        }
        for (int reads = 0; reads < kReadsPerTurn; ++reads) {
            const ssize_t n = ::recv(c.fd, buffer_, sizeof buffer_, 0);
            if (n == 0) return false;
            if (n < 0) return errno == EAGAIN;
            if (!send(c, c.protocol.answer({buffer_, static_cast<size_t>(n)}))) return false;
            if (!c.unsent.empty()) return true;
            if (!carry_on(c)) return false;
            // A short read has emptied the socket, and whatever arrives from now on is a new
            // edge. Only a FIN that is already there gives none: then read up to it.
            if (static_cast<size_t>(n) < sizeof buffer_ && !(events & kPeerGone)) return true;
        }
        epoll_event event{};
        event.events = kInterest;
        event.data.ptr = &c;
        return ::epoll_ctl(epoll_, EPOLL_CTL_MOD, c.fd, &event) == 0;  // makes a new edge
    }

    bool send(Connection& c, std::string_view data) {
        while (!data.empty()) {
            const ssize_t n = ::send(c.fd, data.data(), data.size(), MSG_NOSIGNAL);
            if (n < 0) {
                if (errno != EAGAIN) return false;
                c.unsent.assign(data);
                return true;
            }
            data.remove_prefix(static_cast<size_t>(n));
        }
        return true;
    }

    bool carry_on(Connection& c) {
        const After after = c.protocol.after();
        if (after == After::linger && !c.fin_sent) {
            ::shutdown(c.fd, SHUT_WR);
            c.fin_sent = true;
        }
        return after != After::close;
    }

    const int listener_;
    const int epoll_;
    char buffer_[64 * 1024];  // shared by all connections: it is empty whenever one is left
};

// Forks until there are `workers` processes; returns this one's number, 0 in the parent.
inline int fork_workers(int workers) {
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

// Arguments: HOST PORT [WORKERS]. Each worker is a process with its own listener on the port, and
// the kernel spreads the connections: no lock, no thundering herd, nothing shared.
template <class Protocol>
int serve_main(int argc, char** argv) {
    const int workers = argc > 3 ? std::atoi(argv[3]) : 1;
    if (argc < 3 || workers < 1) {
        std::fprintf(stderr, "usage: %s HOST PORT [WORKERS]\n", argv[0]);
        return 2;
    }
    const char *host = argv[1], *port = argv[2];
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);

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
    const int mine = fork_workers(workers);
    for (int i = 0; i < workers; ++i) {
        if (i != mine) ::close(listeners[i]);
    }
    static EventLoop<Protocol> loop(listeners[mine]);
    loop.run();
}
