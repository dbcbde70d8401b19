// An HTTP server on net/http that keeps one of four contracts.
package main

import (
	"crypto/tls"
	"log"
	"net"
	"net/http"
	"os"
)

// handler is what answers a contract; nil for one that is not kept here.
func handler(contract, upstream string) http.HandlerFunc {
	switch contract {
	case "http-echo":
		return echo
	case "fibonacci":
		return fibonacci
	case "sse":
		return events
	case "weather":
		return weather(upstream)
	}
	return nil
}

// at gives an argument, or "" when there are not so many.
func at(args []string, index int) string {
	if index < len(args) {
		return args[index]
	}
	return ""
}

func main() {
	log.SetFlags(0)
	args := os.Args[1:]
	answer := handler(at(args, 0), at(args, 6))
	if len(args) < 3 || answer == nil {
		log.Fatal("usage: server http-echo|fibonacci|sse|weather HOST PORT [plain|tls|h2 [CERT KEY [UPSTREAM]]]")
	}
	over := "plain"
	if len(args) > 3 {
		over = args[3]
	}
	server := &http.Server{
		Addr: net.JoinHostPort(args[1], args[2]),
		// A bare handler: http.ServeMux would clean paths and redirect.
		Handler: answer,
		// net/http allows 4 KiB more than this: 16 KiB in all.
		MaxHeaderBytes: 12 << 10,
	}
	switch over {
	case "plain":
		log.Fatal(server.ListenAndServe())
	case "tls":
		// With this, HTTP/2 is not offered.
		server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
		log.Fatal(server.ListenAndServeTLS(args[4], args[5]))
	case "h2":
		log.Fatal(server.ListenAndServeTLS(args[4], args[5]))
	default:
		log.Fatalf("%s is not spoken here", over)
	}
}
