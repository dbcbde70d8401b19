// A TCP echo server: a goroutine per connection, io.Copy in each.
package main

import (
	"io"
	"log"
	"net"
	"os"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: server HOST PORT")
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(os.Args[1], os.Args[2]))
	if err != nil {
		log.Fatal(err)
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go echo(conn)
	}
}

// Between two TCP connections io.Copy would splice through a pipe: more system calls for
// every message, which pays only for bulk data. The structs show io.Copy nothing but Read
// and Write, so that it takes its plain loop over one 32 KiB buffer. TCP_NODELAY is Go's
// default.
func echo(conn net.Conn) {
	defer conn.Close()
	io.Copy(struct{ io.Writer }{conn}, struct{ io.Reader }{conn})
}
