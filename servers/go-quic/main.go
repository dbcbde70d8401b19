// http-echo by net/http over TLS, and by quic-go over HTTP/3.
package main

import (
	"crypto/tls"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/quic-go/quic-go/http3"
)

// GET /any/path -> "<path> at <date>".
func echo(w http.ResponseWriter, r *http.Request) {
	body := make([]byte, 0, len(r.RequestURI)+len(" at ")+len(http.TimeFormat))
	body = append(body, r.RequestURI...)
	body = append(body, " at "...)
	body = time.Now().UTC().AppendFormat(body, http.TimeFormat)

	header := w.Header()
	header.Set("Content-Type", "text/plain")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 6 {
		log.Fatal("usage: server HOST PORT tls|h2|h3 CERT KEY")
	}
	address, over := net.JoinHostPort(os.Args[1], os.Args[2]), os.Args[3]
	certificate, key := os.Args[4], os.Args[5]
	// A bare handler: http.ServeMux would clean paths and redirect.
	handler := http.HandlerFunc(echo)
	if over == "h3" {
		server := &http3.Server{Addr: address, Handler: handler}
		log.Fatal(server.ListenAndServeTLS(certificate, key))
	}
	server := &http.Server{Addr: address, Handler: handler}
	if over == "tls" {
		// With this, HTTP/2 is not offered.
		server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	}
	log.Fatal(server.ListenAndServeTLS(certificate, key))
}
