// An HTTP server on fasthttp that answers "<path> at <date>".
package main

import (
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/valyala/fasthttp"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: server HOST PORT")
	}
	server := &fasthttp.Server{
		Handler:        echo,
		ReadBufferSize: 16 << 10, // the longest head
	}
	// ListenAndServe is for IPv4 alone.
	listener, err := net.Listen("tcp", net.JoinHostPort(os.Args[1], os.Args[2]))
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(server.Serve(listener))
}

// The buffers behind ctx belong to fasthttp, which uses them again: nothing is allocated.
func echo(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType("text/plain")
	ctx.Write(ctx.RequestURI())
	ctx.WriteString(" at ")
	var date [len(http.TimeFormat)]byte
	ctx.Write(time.Now().UTC().AppendFormat(date[:0], http.TimeFormat))
}
