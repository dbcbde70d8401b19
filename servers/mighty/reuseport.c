// Preloaded into several processes of one program, lets all of them listen on the same port:
// SO_REUSEPORT is set on every socket before it is bound.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int bind(int fd, const struct sockaddr *address, socklen_t length)
{
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    return syscall(SYS_bind, fd, address, length);
}
