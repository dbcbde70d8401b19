// An HTTP server on net/http that answers "<path> at <date>".
package main

import (
	"log"
	"net/http"
	"os"
	"strconv"
	"time"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: server PORT")
	}
	server := &http.Server{
		Addr: "127.0.0.1:" + os.Args[1],
		// A bare handler: http.ServeMux would clean paths and redirect.
		Handler: http.HandlerFunc(echo),
		// net/http allows 4 KiB more than this: 16 KiB in all.
		MaxHeaderBytes: 12 << 10,
	}
	log.Fatal(server.ListenAndServe())
}

func echo(w http.ResponseWriter, r *http.Request) {
	body := make([]byte, 0, len(r.RequestURI)+len(" at ")+len(http.TimeFormat))
	body = append(body, r.RequestURI...)
	body = append(body, " at "...)
	body = time.Now().UTC().AppendFormat(body, http.TimeFormat)

	header := w.Header()
	header.Set("Content-Type", "text/plain")
	// net/http counts a body by itself only up to 2 KiB; beyond, it would be chunked.
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}
