// The techempower contract on fasthttp, pgx and html/template.
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
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/valyala/fasthttp"
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
	if len(os.Args) != 3 {
		log.Fatal("usage: server HOST PORT")
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
	a := &app{pool: pool, cached: cache(pool)}
	// ListenAndServe is for IPv4 alone.
	listener, err := net.Listen("tcp", net.JoinHostPort(os.Args[1], os.Args[2]))
	if err != nil {
		log.Fatal(err)
	}
	server := &fasthttp.Server{Name: "fasthttp", Handler: a.route}
	log.Fatal(server.Serve(listener))
}

func (a *app) route(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case "/json":
		answer(ctx, message{"Hello, World!"}, nil)
	case "/plaintext":
		ctx.SetContentType("text/plain")
		ctx.WriteString("Hello, World!")
	case "/db":
		a.db(ctx)
	case "/queries":
		rows, err := a.read(ctx, randomIDs(number(ctx, "queries")))
		answer(ctx, rows, err)
	case "/fortunes":
		a.fortunes(ctx)
	case "/updates":
		a.updates(ctx)
	case "/cached-queries":
		a.cachedQueries(ctx)
	default:
		ctx.SetStatusCode(fasthttp.StatusNotFound)
	}
}

func (a *app) db(ctx *fasthttp.RequestCtx) {
	var row world
	err := a.pool.QueryRow(ctx, selectOne, randomID()).Scan(&row.ID, &row.RandomNumber)
	answer(ctx, row, err)
}

func (a *app) updates(ctx *fasthttp.RequestCtx) {
	ids := randomIDs(number(ctx, "queries"))
	slices.Sort(ids)
	rows, err := a.read(ctx, ids)
	if err == nil {
		numbers := make([]int32, len(rows))
		for i := range rows {
			numbers[i] = randomID()
			rows[i].RandomNumber = numbers[i]
		}
		_, err = a.pool.Exec(ctx, updateAll, ids, numbers)
	}
	answer(ctx, rows, err)
}

func (a *app) fortunes(ctx *fasthttp.RequestCtx) {
	rows, err := a.pool.Query(ctx, selectText)
	if err != nil {
		answer(ctx, nil, err)
		return
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[fortune])
	if err != nil {
		answer(ctx, nil, err)
		return
	}
	all = append(all, fortune{0, "Additional fortune added at request time."})
	slices.SortFunc(all, func(a, b fortune) int { return cmp.Compare(a.Message, b.Message) })
	ctx.SetContentType("text/html; charset=utf-8")
	if err := fortunesPage.Execute(ctx, all); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
	}
}

func (a *app) cachedQueries(ctx *fasthttp.RequestCtx) {
	all, err := a.cached()
	if err != nil {
		answer(ctx, nil, err)
		return
	}
	rows := make([]world, number(ctx, "count"))
	for i := range rows {
		rows[i] = all[rand.IntN(len(all))]
	}
	answer(ctx, rows, nil)
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
func number(ctx *fasthttp.RequestCtx, name string) int {
	n, err := strconv.Atoi(string(ctx.QueryArgs().Peek(name)))
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

func answer(ctx *fasthttp.RequestCtx, body any, err error) {
	if err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
		return
	}
	text, err := json.Marshal(body)
	if err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
		return
	}
	ctx.SetContentType("application/json")
	ctx.Write(text)
}
