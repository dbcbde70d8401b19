// An HTTP server on net/http that keeps one of two contracts.
package main

import (
	"log"
	"net"
	"net/http"
	"os"
)

var contracts = map[string]http.HandlerFunc{
	"http-echo": echo,
	"fibonacci": fibonacci,
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 || contracts[os.Args[1]] == nil {
		log.Fatal("usage: server http-echo|fibonacci HOST PORT")
	}
	server := &http.Server{
		Addr: net.JoinHostPort(os.Args[2], os.Args[3]),
		// A bare handler: http.ServeMux would clean paths and redirect.
		Handler: contracts[os.Args[1]],
		// net/http allows 4 KiB more than this: 16 KiB in all.
		MaxHeaderBytes: 12 << 10,
	}
	log.Fatal(server.ListenAndServe())
}
