package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// GET /events/{n}/{gap}/{word} -> n events, gap milliseconds apart, and [DONE].
func events(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/")
	if r.Method != http.MethodGet || len(parts) != 5 || parts[1] != "events" {
		http.NotFound(w, r)
		return
	}
	n, errN := strconv.Atoi(parts[2])
	gap, errGap := strconv.Atoi(parts[3])
	if errN != nil || errGap != nil {
		http.NotFound(w, r)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache")
	send := http.NewResponseController(w)
	for i := 1; i <= n; i++ {
		if i > 1 && gap > 0 {
			select {
			case <-time.After(time.Duration(gap) * time.Millisecond):
			case <-r.Context().Done():
				return
			}
		}
		if _, err := fmt.Fprintf(w, "data: %s %d\n\n", parts[4], i); err != nil {
			return
		}
		if send.Flush() != nil {
			return
		}
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}
