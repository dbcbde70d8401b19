// The contracts techempower and arena on net/http, pgx and html/template.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"html/template"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/quic-go/quic-go/http3"
)

const (
	worlds     = 10_000
	selectOne  = "SELECT id, randomnumber FROM world WHERE id = $1"
	selectAll  = "SELECT id, randomnumber FROM cachedworld"
	selectText = "SELECT id, message FROM fortune"
	// The planner keeps the order of the arrays, so that rows are locked by ascending id.
	updateAll = "UPDATE world SET randomnumber = new.number " +
		"FROM unnest($1::int[], $2::int[]) AS new (id, number) WHERE world.id = new.id"
)

//go:embed fortunes.html
var page string

var fortunesPage = template.Must(template.New("fortunes").Parse(page))

type world struct {
	ID           int32 `json:"id"`
	RandomNumber int32 `json:"randomNumber"`
}

type fortune struct {
	ID      int32
	Message string
}

type message struct {
	Message string `json:"message"`
}

type app struct {
	pool   *pgxpool.Pool
	cached func() ([]world, error)
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 7 {
		log.Fatal("usage: server CONTRACT HOST PORT plain|tls|h2c|h2|h3 CERT KEY")
	}
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	most, err := strconv.Atoi(os.Getenv("DATABASE_MAX_CONN"))
	if err != nil || most < 1 {
		log.Fatal("DATABASE_MAX_CONN is not a number of connections")
	}
	config.MaxConns = int32(most)
	// Connects when a connection is first needed.
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	if os.Args[1] == "arena" {
		if err := arenaRoutes(mux, pool); err != nil {
			log.Fatal(err)
		}
	} else {
		techempowerRoutes(mux, pool)
	}
	server := &http.Server{Addr: net.JoinHostPort(os.Args[2], os.Args[3]), Handler: named(mux)}
	log.Fatal(listen(server, os.Args[4], os.Args[5], os.Args[6]))
}

// listen speaks one variant of HTTP.
func listen(server *http.Server, over, cert, key string) error {
	if over == "h3" {
		quic := http3.Server{Addr: server.Addr, Handler: dated(server.Handler)}
		return quic.ListenAndServeTLS(cert, key)
	}
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(over == "plain" || over == "tls")
	server.Protocols.SetHTTP2(over == "h2")
	server.Protocols.SetUnencryptedHTTP2(over == "h2c")
	if cert == "" {
		return server.ListenAndServe()
	}
	return server.ListenAndServeTLS(cert, key)
}

func techempowerRoutes(mux *http.ServeMux, pool *pgxpool.Pool) {
	a := &app{pool: pool, cached: cache(pool)}
	mux.HandleFunc("GET /json", a.json)
	mux.HandleFunc("GET /plaintext", a.plaintext)
	mux.HandleFunc("GET /db", a.db)
	mux.HandleFunc("GET /queries", a.queries)
	mux.HandleFunc("GET /fortunes", a.fortunes)
	mux.HandleFunc("GET /updates", a.updates)
	mux.HandleFunc("GET /cached-queries", a.cachedQueries)
}

// named adds the header that net/http leaves out.
func named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "net/http")
		next.ServeHTTP(w, r)
	})
}

// dated adds the header that net/http writes by itself over TCP.
func dated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
		next.ServeHTTP(w, r)
	})
}

func (a *app) json(w http.ResponseWriter, r *http.Request) {
	answer(w, message{"Hello, World!"}, nil)
}

func (a *app) plaintext(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	w.Write([]byte("Hello, World!"))
}

func (a *app) db(w http.ResponseWriter, r *http.Request) {
	var row world
	err := a.pool.QueryRow(r.Context(), selectOne, randomID()).Scan(&row.ID, &row.RandomNumber)
	answer(w, row, err)
}

func (a *app) queries(w http.ResponseWriter, r *http.Request) {
	rows, err := a.read(r.Context(), randomIDs(number(r, "queries")))
	answer(w, rows, err)
}

func (a *app) updates(w http.ResponseWriter, r *http.Request) {
	ids := randomIDs(number(r, "queries"))
	slices.Sort(ids)
	rows, err := a.read(r.Context(), ids)
	if err == nil {
		numbers := make([]int32, len(rows))
		for i := range rows {
			numbers[i] = randomID()
			rows[i].RandomNumber = numbers[i]
		}
		_, err = a.pool.Exec(r.Context(), updateAll, ids, numbers)
	}
	answer(w, rows, err)
}

func (a *app) fortunes(w http.ResponseWriter, r *http.Request) {
	rows, err := a.pool.Query(r.Context(), selectText)
	if err != nil {
		answer(w, nil, err)
		return
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[fortune])
	if err != nil {
		answer(w, nil, err)
		return
	}
	all = append(all, fortune{0, "Additional fortune added at request time."})
	slices.SortFunc(all, func(a, b fortune) int { return cmp.Compare(a.Message, b.Message) })
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := fortunesPage.Execute(w, all); err != nil {
		log.Print(err)
	}
}

func (a *app) cachedQueries(w http.ResponseWriter, r *http.Request) {
	all, err := a.cached()
	if err != nil {
		answer(w, nil, err)
		return
	}
	rows := make([]world, number(r, "count"))
	for i := range rows {
		rows[i] = all[rand.IntN(len(all))]
	}
	answer(w, rows, nil)
}

// read selects each row by a statement of its own; all of them are sent before the first result
// is read.
func (a *app) read(ctx context.Context, ids []int32) ([]world, error) {
	rows := make([]world, len(ids))
	var batch pgx.Batch
	for i, id := range ids {
		batch.Queue(selectOne, id).QueryRow(func(row pgx.Row) error {
			return row.Scan(&rows[i].ID, &rows[i].RandomNumber)
		})
	}
	return rows, a.pool.SendBatch(ctx, &batch).Close()
}

// cache reads the cached rows when they are first asked for, and again after a failure.
func cache(pool *pgxpool.Pool) func() ([]world, error) {
	var mutex sync.RWMutex
	var all []world
	return func() ([]world, error) {
		mutex.RLock()
		have := all
		mutex.RUnlock()
		if have != nil {
			return have, nil
		}
		mutex.Lock()
		defer mutex.Unlock()
		if all != nil {
			return all, nil
		}
		rows, err := pool.Query(context.Background(), selectAll)
		if err != nil {
			return nil, err
		}
		all, err = pgx.CollectRows(rows, pgx.RowToStructByPos[world])
		return all, err
	}
}

// number is the parameter within 1 and 500; 1 when it is not a number.
func number(r *http.Request, name string) int {
	n, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil {
		return 1
	}
	return min(max(n, 1), 500)
}

func randomID() int32 {
	return 1 + rand.Int32N(worlds)
}

// randomIDs are distinct.
func randomIDs(count int) []int32 {
	ids := make([]int32, 0, count)
	seen := make(map[int32]struct{}, count)
	for len(ids) < count {
		id := randomID()
		if _, twice := seen[id]; !twice {
			seen[id] = struct{}{}
			ids = append(ids, id)
		}
	}
	return ids
}

func answer(w http.ResponseWriter, body any, err error) {
	answerWith(w, http.StatusOK, body, err)
}

func answerWith(w http.ResponseWriter, status int, body any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	text, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(text)
}
