/* A server of HTTP in which one cause of a higher cost per request is planted: `why PORT CAUSE`. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Some 10 µs. */
#define WORK 10000
#define THREADS 4
/* Requests that share a new page. */
#define PER_PAGE 4
/* Memory that each request allocates and frees again, if it does. */
#define BLOCK (200 << 10)

static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
static const char whole[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

static const char *cause;
static int port;
static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned result;

static int is(const char *name) { return strcmp(cause, name) == 0; }

__attribute__((noinline)) static void json_encode(int n)
{
    unsigned x = 1;
    for (int i = 0; i < n; i++)
        x = x * 31 + i;
    result = x;
}

/* Memory that is never given back. */
static void grow(void)
{
    static char *pages;
    static size_t used;
    const size_t size = (size_t)64 << 30;
    if (!pages)
        pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
        exit(1);
    pages[used % size] = 1;
    used += 4096 / PER_PAGE;
}

/* From the heap that the process has, or from the kernel each time: main() sets which. */
static void allocate(void)
{
    char *block = malloc(BLOCK);
    if (!block)
        exit(1);
    for (int i = 0; i < BLOCK; i += 50 << 10)
        *(volatile char *)(block + i) = 1;
    free(block);
}

static void answer(int fd, pthread_mutex_t *lock)
{
    /* With a lock, another thread runs while it is held: whether that waits depends on whose lock it is. */
    if (lock)
        pthread_mutex_lock(lock);
    json_encode(is("work") ? WORK + WORK / 20 : WORK);
    if (lock) {
        sched_yield();
        pthread_mutex_unlock(lock);
    }
    if (is("calls")) {
        getppid();
        getppid();
    }
    if (is("faults"))
        grow();
    if (is("heap") || is("alloc"))
        allocate();
    if (is("writes") || is("nagle")) {
        send(fd, head, sizeof head - 1, MSG_NOSIGNAL);
        send(fd, "ok", 2, MSG_NOSIGNAL);
    } else {
        send(fd, whole, sizeof whole - 1, MSG_NOSIGNAL);
    }
}

static void *serve(void *unused)
{
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_t *lock = is("lock") ? &shared : is("own-locks") ? &own : NULL;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1, poll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[64];
    char bytes[65536];
    (void)unused;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (bind(listener, (void *)&at, sizeof at) || listen(listener, 512))
        exit(1);
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int n = epoll_wait(poll, events, 64, -1);
        if (is("sleep")) {
            struct timespec moment = {0, 1};
            nanosleep(&moment, NULL);
        }
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;
            if (fd == listener) {
                event.data.fd = accept(listener, NULL, NULL);
                if (!is("nagle"))
                    setsockopt(event.data.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                epoll_ctl(poll, EPOLL_CTL_ADD, event.data.fd, &event);
                continue;
            }
            ssize_t got = recv(fd, bytes, sizeof bytes, 0);
            if (got <= 0) {
                close(fd);
                continue;
            }
            for (char *at = bytes; (at = memmem(at, bytes + got - at, "\r\n\r\n", 4)); at += 4)
                answer(fd, lock);
        }
    }
    return NULL;
}

int main(int count, char **words)
{
    if (count != 3)
        return 2;
    port = atoi(words[1]);
    cause = words[2];
    /* An allocation of at least the first size is a mapping of its own; the heap is never given back. */
    mallopt(M_MMAP_THRESHOLD, is("alloc") ? BLOCK / 2 : 16 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    int threads = is("lock") || is("own-locks") ? THREADS : 1;
    pthread_t thread;
    for (int i = 1; i < threads; i++)
        pthread_create(&thread, NULL, serve, NULL);
    serve(NULL);
}
