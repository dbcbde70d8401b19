// The arena contract on net/http and pgx.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	columns   = "id, name, category, price, quantity, active, tags, rating_score, rating_count"
	byPrice   = "SELECT " + columns + " FROM items WHERE price BETWEEN $1 AND $2 ORDER BY id LIMIT $3"
	byID      = "SELECT " + columns + " FROM items WHERE id = $1"
	byKind    = "SELECT " + columns + " FROM items WHERE category = $1 ORDER BY id LIMIT $2 OFFSET $3"
	updateOne = "UPDATE items SET name = $2, price = $3, quantity = $4 WHERE id = $1 RETURNING " + columns
	upsertOne = "INSERT INTO items (id, name, category, price, quantity) VALUES ($1, $2, $3, $4, $5) " +
		"ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name, category = EXCLUDED.category, " +
		"price = EXCLUDED.price, quantity = EXCLUDED.quantity RETURNING " + columns

	kept = 200 * time.Millisecond
)

type rating struct {
	Score int32 `json:"score"`
	Count int32 `json:"count"`
}

type item struct {
	ID       int32    `json:"id"`
	Name     string   `json:"name"`
	Category string   `json:"category"`
	Price    int32    `json:"price"`
	Quantity int32    `json:"quantity"`
	Active   bool     `json:"active"`
	Tags     []string `json:"tags"`
	Rating   rating   `json:"rating"`
}

type withTotal struct {
	item
	Total int64 `json:"total"`
}

type list[T any] struct {
	Items []T `json:"items"`
	Count int `json:"count"`
}

type entry struct {
	item item
	read time.Time
}

type arena struct {
	pool    *pgxpool.Pool
	dataset []item
	mutex   sync.RWMutex
	cache   map[int32]entry
}

func arenaRoutes(mux *http.ServeMux, pool *pgxpool.Pool) error {
	docroot := os.Getenv("DOCROOT")
	text, err := os.ReadFile(filepath.Join(docroot, "dataset.json"))
	if err != nil {
		return err
	}
	a := &arena{pool: pool, cache: map[int32]entry{}}
	if err := json.Unmarshal(text, &a.dataset); err != nil {
		return err
	}
	files, err := readFiles(filepath.Join(docroot, "static"))
	if err != nil {
		return err
	}
	mux.HandleFunc("GET /static/{name}", files.send)
	mux.HandleFunc("GET /baseline11", a.sum)
	mux.HandleFunc("POST /baseline11", a.sum)
	mux.HandleFunc("GET /pipeline", a.pipeline)
	mux.HandleFunc("GET /json/{count}", a.json)
	mux.HandleFunc("POST /upload", a.upload)
	mux.HandleFunc("GET /async-db", a.asyncDB)
	mux.HandleFunc("GET /crud/items", a.list)
	mux.HandleFunc("POST /crud/items", a.create)
	mux.HandleFunc("GET /crud/items/{id}", a.read)
	mux.HandleFunc("PUT /crud/items/{id}", a.update)
	return nil
}

func (a *arena) sum(w http.ResponseWriter, r *http.Request) {
	sum := integer(r, "a", 0) + integer(r, "b", 0)
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		number, err := strconv.Atoi(strings.TrimSpace(string(body)))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		sum += number
	}
	text(w, strconv.Itoa(sum))
}

func (a *arena) pipeline(w http.ResponseWriter, r *http.Request) {
	text(w, "ok")
}

func (a *arena) json(w http.ResponseWriter, r *http.Request) {
	count, err := strconv.Atoi(r.PathValue("count"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	items := make([]withTotal, min(max(count, 0), len(a.dataset)))
	factor := int64(integer(r, "m", 1))
	for i := range items {
		one := a.dataset[i]
		items[i] = withTotal{one, int64(one.Price) * int64(one.Quantity) * factor}
	}
	body := list[withTotal]{items, len(items)}
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		answer(w, body, nil)
		return
	}
	var packed bytes.Buffer
	writer := writers.Get().(*gzip.Writer)
	writer.Reset(&packed)
	err = errors.Join(json.NewEncoder(writer).Encode(body), writer.Close())
	writers.Put(writer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Set("Content-Type", "application/json")
	w.Write(packed.Bytes())
}

var writers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func (a *arena) upload(w http.ResponseWriter, r *http.Request) {
	size, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text(w, strconv.FormatInt(size, 10))
}

func (a *arena) asyncDB(w http.ResponseWriter, r *http.Request) {
	limit := min(max(integer(r, "limit", 50), 1), 50)
	a.many(w, r, byPrice, integer(r, "min", 10), integer(r, "max", 50), limit)
}

func (a *arena) list(w http.ResponseWriter, r *http.Request) {
	limit := min(max(integer(r, "limit", 10), 1), 50)
	page := max(integer(r, "page", 1), 1)
	a.many(w, r, byKind, r.URL.Query().Get("category"), limit, (page-1)*limit)
}

func (a *arena) many(w http.ResponseWriter, r *http.Request, query string, values ...any) {
	rows, err := a.pool.Query(r.Context(), query, values...)
	if err != nil {
		answer(w, nil, err)
		return
	}
	items, err := pgx.CollectRows(rows, scan)
	if items == nil {
		items = []item{}
	}
	answer(w, list[item]{items, len(items)}, err)
}

func (a *arena) read(w http.ResponseWriter, r *http.Request) {
	id, ok := pathID(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	a.mutex.RLock()
	have, found := a.cache[id]
	a.mutex.RUnlock()
	if found && time.Since(have.read) < kept {
		w.Header().Set("X-Cache", "HIT")
		answer(w, have.item, nil)
		return
	}
	now := time.Now()
	one, err := a.one(r, byID, id)
	if errors.Is(err, pgx.ErrNoRows) {
		http.NotFound(w, r)
		return
	}
	if err == nil {
		a.mutex.Lock()
		a.cache[id] = entry{one, now}
		a.mutex.Unlock()
	}
	w.Header().Set("X-Cache", "MISS")
	answer(w, one, err)
}

func (a *arena) update(w http.ResponseWriter, r *http.Request) {
	id, ok := pathID(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	var new item
	if err := json.NewDecoder(r.Body).Decode(&new); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	one, err := a.one(r, updateOne, id, new.Name, new.Price, new.Quantity)
	if errors.Is(err, pgx.ErrNoRows) {
		http.NotFound(w, r)
		return
	}
	a.forget(id)
	answer(w, one, err)
}

func (a *arena) create(w http.ResponseWriter, r *http.Request) {
	var new item
	if err := json.NewDecoder(r.Body).Decode(&new); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	one, err := a.one(r, upsertOne, new.ID, new.Name, new.Category, new.Price, new.Quantity)
	a.forget(new.ID)
	answerWith(w, http.StatusCreated, one, err)
}

func (a *arena) one(r *http.Request, query string, values ...any) (item, error) {
	rows, err := a.pool.Query(r.Context(), query, values...)
	if err != nil {
		return item{}, err
	}
	return pgx.CollectExactlyOneRow(rows, scan)
}

func (a *arena) forget(id int32) {
	a.mutex.Lock()
	delete(a.cache, id)
	a.mutex.Unlock()
}

func scan(row pgx.CollectableRow) (item, error) {
	var i item
	err := row.Scan(&i.ID, &i.Name, &i.Category, &i.Price, &i.Quantity, &i.Active, &i.Tags,
		&i.Rating.Score, &i.Rating.Count)
	return i, err
}

func pathID(r *http.Request) (int32, bool) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 32)
	return int32(id), err == nil
}

// integer is the parameter, or the default when it is not a number.
func integer(r *http.Request, name string, otherwise int) int {
	n, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil {
		return otherwise
	}
	return n
}

func text(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/plain")
	w.Write([]byte(body))
}
