package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"
)

const (
	maxBody  = 64 << 10
	maxIndex = 100_000
)

type question struct {
	Name *string `json:"name"`
	Fib  *int    `json:"fib"`
}

type answer struct {
	ID      string   `json:"id"`
	Time    int64    `json:"time"`
	Name    string   `json:"name"`
	Service string   `json:"service"`
	Answer  *big.Int `json:"answer"`
}

type refusal struct {
	Error string `json:"error"`
}

// POST /fibonacci {"name": "...", "fib": n} -> the n-th Fibonacci number.
func fibonacci(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/fibonacci" {
		sendJSON(w, http.StatusNotFound, refusal{"not found"})
		return
	}
	q, err := parse(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		sendJSON(w, http.StatusBadRequest, refusal{err.Error()})
		return
	}
	sendJSON(w, http.StatusOK, answer{
		ID:      newUUID(),
		Time:    time.Now().UnixMilli(),
		Name:    *q.Name,
		Service: "go-net-http",
		Answer:  fib(*q.Fib),
	})
}

func parse(body io.Reader) (q question, err error) {
	text, err := io.ReadAll(body)
	if err != nil {
		return q, err
	}
	// encoding/json would replace what is not UTF-8.
	if !utf8.Valid(text) {
		return q, errors.New("the body is not UTF-8")
	}
	if err := json.Unmarshal(text, &q); err != nil {
		return q, err
	}
	if q.Name == nil {
		return q, errors.New("name must be a string")
	}
	if q.Fib == nil || *q.Fib < 0 || *q.Fib > maxIndex {
		return q, fmt.Errorf("fib must be an integer from 0 to %d", maxIndex)
	}
	return q, nil
}

func fib(n int) *big.Int {
	a, b := big.NewInt(0), big.NewInt(1)
	for ; n > 0; n-- {
		a.Add(a, b)
		a, b = b, a
	}
	return a
}

// newUUID makes a random UUID (RFC 9562, version 4).
func newUUID() string {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		panic(err)
	}
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

func sendJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}
