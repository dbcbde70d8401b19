package main

import (
	"net/http"
	"strconv"
	"time"
)

// GET /any/path -> "<path> at <date>".
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
