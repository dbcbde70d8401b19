// A WebSocket echo server on coder/websocket.
package main

import (
	"context"
	"log"
	"net"
	"net/http"
	"os"
	"unicode/utf8"

	"github.com/coder/websocket"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: server HOST PORT")
	}
	server := &http.Server{
		Addr:    net.JoinHostPort(os.Args[1], os.Args[2]),
		Handler: http.HandlerFunc(serve),
	}
	log.Fatal(server.ListenAndServe())
}

// Pings and close frames are answered by the library while it reads.
func serve(w http.ResponseWriter, r *http.Request) {
	socket, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // Accept has answered
	}
	defer socket.CloseNow()
	socket.SetReadLimit(-1)
	ctx := context.Background()
	for {
		kind, message, err := socket.Read(ctx)
		if err != nil {
			return
		}
		// The library leaves this to the application.
		if kind == websocket.MessageText && !utf8.Valid(message) {
			socket.Close(websocket.StatusInvalidFramePayloadData, "")
			return
		}
		if socket.Write(ctx, kind, message) != nil {
			return
		}
	}
}
