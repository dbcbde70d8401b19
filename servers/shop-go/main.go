// A small JSON shop on net/http: a page, items, a search, a login and orders.
package main

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
)

const page = `<!doctype html>
<html lang="en">
<title>Shop</title>
<h1>Shop</h1>
<p>A thousand items: <a href="/items">all of them</a>.
`

// A longer body is refused.
const mostBytes = 64 << 10

// A list has at most this many items.
const mostItems = 100

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: server HOST PORT")
	}
	address := net.JoinHostPort(os.Args[1], os.Args[2])
	log.Fatal(http.ListenAndServe(address, http.HandlerFunc(route)))
}

var routes = map[string]http.HandlerFunc{
	"GET /":        home,
	"GET /items":   list,
	"GET /search":  find,
	"POST /login":  login,
	"POST /orders": order,
}

// A bare handler: http.ServeMux would clean paths and redirect.
func route(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		// Answered as GET; net/http leaves the body out.
		method = http.MethodGet
	}
	id := strings.TrimPrefix(r.URL.Path, "/items/")
	if handler := routes[method+" "+r.URL.Path]; handler != nil {
		handler(w, r)
	} else if method == http.MethodGet && id != r.URL.Path {
		one(w, id)
	} else {
		refuse(w, http.StatusNotFound, "there is no such page")
	}
}

type object map[string]any

func answer(w http.ResponseWriter, status int, value any) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	// net/http counts a body by itself only up to 2 KiB; beyond, it would be chunked.
	header.Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	w.Write(body.Bytes())
}

func refuse(w http.ResponseWriter, status int, why string) {
	answer(w, status, object{"error": why})
}

// Reads a JSON body; if it is none, the answer says so.
func read(w http.ResponseWriter, r *http.Request, value any) bool {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBytes))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, "the body is too long")
		return false
	}
	if json.Unmarshal(body, value) != nil {
		refuse(w, http.StatusBadRequest, "the body is not the JSON that is expected")
		return false
	}
	return true
}

func home(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	io.WriteString(w, page)
}

// GET /items?offset=40&limit=20
func list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	number := func(name string, usual, least, most int) (int, bool) {
		text := query.Get(name)
		if text == "" {
			return usual, true
		}
		n, err := strconv.Atoi(text)
		return n, err == nil && n >= least && n <= most
	}
	offset, right := number("offset", 0, 0, len(items))
	limit, also := number("limit", 20, 1, mostItems)
	if !right || !also {
		refuse(w, http.StatusBadRequest, "offset or limit is not a number in range")
		return
	}
	end := offset + limit
	if end > len(items) {
		end = len(items)
	}
	answer(w, http.StatusOK, object{"total": len(items), "offset": offset, "items": items[offset:end]})
}

// GET /items/17
func one(w http.ResponseWriter, id string) {
	item, known := itemOf(id)
	if !known {
		refuse(w, http.StatusNotFound, "there is no such item")
		return
	}
	answer(w, http.StatusOK, item)
}

// GET /search?q=lamp
func find(w http.ResponseWriter, r *http.Request) {
	text := r.URL.Query().Get("q")
	if text == "" {
		refuse(w, http.StatusBadRequest, "q says what is searched for")
		return
	}
	first, total := search(text)
	answer(w, http.StatusOK, object{"q": text, "total": total, "items": first})
}

// POST /login {"user": "ann"}
func login(w http.ResponseWriter, r *http.Request) {
	var who struct{ User string }
	if !read(w, r, &who) {
		return
	}
	if who.User == "" {
		refuse(w, http.StatusBadRequest, "user says who logs in")
		return
	}
	token := tokenOf(who.User)
	w.Header().Set("Set-Cookie", "shop="+token+"; Path=/; HttpOnly")
	answer(w, http.StatusOK, object{"user": who.User, "token": token})
}

// POST /orders {"item": 17, "quantity": 2}
func order(w http.ResponseWriter, r *http.Request) {
	user, right := userOf(r.Header.Get("Authorization"))
	if !right {
		w.Header().Set("WWW-Authenticate", "Bearer")
		refuse(w, http.StatusUnauthorized, "log in first")
		return
	}
	var wish struct{ Item, Quantity *int }
	if !read(w, r, &wish) {
		return
	}
	if wish.Item == nil || wish.Quantity == nil || *wish.Item < 0 || *wish.Item >= len(items) || *wish.Quantity < 1 || *wish.Quantity > 100 {
		refuse(w, http.StatusBadRequest, "item or quantity is not a number in range")
		return
	}
	var random [8]byte
	rand.Read(random[:])
	number := hex.EncodeToString(random[:])
	w.Header().Set("Location", "/orders/"+number)
	answer(w, http.StatusCreated, object{
		"ok": true, "order": number, "user": user,
		"item": *wish.Item, "quantity": *wish.Quantity, "total": items[*wish.Item].Price * *wish.Quantity,
	})
}
