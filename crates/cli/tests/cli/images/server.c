#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <sys/socket.h>
/* The server of the images in the test: answers every request with two bytes, each connection in a process of its own.
   With an argument it only shows that it can be started. */
int main(int count, char **arguments) {
    (void)arguments;
    if (count > 1) return 0;
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(getenv("PORT")))};
    int yes = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    inet_aton(getenv("HOST"), &at.sin_addr);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 128)) return 1;
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        int c = accept(listener, 0, 0);
        if (c >= 0 && fork() == 0) {
            char bytes[4096];
            while (read(c, bytes, sizeof bytes) > 0)
                if (write(c, answer, sizeof answer - 1) < 0) break;
            _exit(0);
        }
        close(c);
    }
}
