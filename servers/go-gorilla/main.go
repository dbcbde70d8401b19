// A WebSocket echo server on gorilla/websocket.
package main

import (
	"log"
	"net"
	"net/http"
	"os"
	"unicode/utf8"

	"github.com/gorilla/websocket"
)

var upgrader = websocket.Upgrader{
	CheckOrigin: func(*http.Request) bool { return true },
}

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
	socket, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	defer socket.Close()
	for {
		kind, message, err := socket.ReadMessage()
		if err != nil {
			return
		}
		// The library leaves this to the application.
		if kind == websocket.TextMessage && !utf8.Valid(message) {
			bad := websocket.FormatCloseMessage(websocket.CloseInvalidFramePayloadData, "")
			socket.WriteMessage(websocket.CloseMessage, bad)
			return
		}
		if socket.WriteMessage(kind, message) != nil {
			return
		}
	}
}
