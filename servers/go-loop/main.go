// A TCP echo server: a goroutine per connection, a loop of Read and Write in each.
package main

import (
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

// The buffer is as small as that of a published benchmark's server from before Go 1, which
// this one stands for: a ping fits, but bulk data goes through it in tiny pieces.
// TCP_NODELAY is Go's default.
func echo(conn net.Conn) {
	defer conn.Close()
	buffer := make([]byte, 24)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return
		}
		if _, err := conn.Write(buffer[:n]); err != nil {
			return
		}
	}
}
