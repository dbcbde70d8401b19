#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
/* The entry of a suite in the test: JSON and plain text, each connection in a separate process. */
static void serve(int c) {
    char bytes[65536];
    size_t have = 0;
    for (;;) {
        ssize_t n = read(c, bytes + have, sizeof bytes - 1 - have);
        if (n <= 0) return;
        bytes[have += n] = 0;
        char *end, *at = bytes;
        while ((end = strstr(at, "\r\n\r\n"))) {
            *end = 0;
            int json = !strncmp(at, "GET /json ", 10), last = strcasestr(at, "Connection: close") != 0;
            const char *body = json ? "{\"message\":\"Hello, World!\"}" : "Hello, World!";
            char date[64], answer[512];
            time_t now = time(0);
            strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime(&now));
            int length = snprintf(answer, sizeof answer,
                "HTTP/1.1 200 OK\r\nServer: entry\r\nDate: %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s\r\n%s", date,
                json ? "application/json" : "text/plain", strlen(body), last ? "Connection: close\r\n" : "", body);
            if (write(c, answer, length) < 0 || last) return;
            at = end + 4;
        }
        memmove(bytes, at, have -= at - bytes);
    }
}
int main(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(18080)};
    int yes = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 4096)) return 1;
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
        int c = accept(listener, 0, 0);
        setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        if (c >= 0 && fork() == 0) {
            serve(c);
            _exit(0);
        }
        close(c);
    }
}
