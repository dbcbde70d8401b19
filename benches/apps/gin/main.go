// A list of ships, rendered by html/template under Gin: `ships PORT`.
package main

import (
	"fmt"
	"html/template"
	"net/http"
	"os"
	"strconv"

	"github.com/gin-gonic/gin"
)

type ship struct {
	Name   string
	Tonnes int
}

var page = template.Must(template.New("ships").Parse(`<!doctype html>
<title>Ships of {{.Harbour}}</title>
<table>
{{range .Ships}}<tr><td>{{.Name}}</td><td>{{.Tonnes}} t</td></tr>
{{end}}</table>
`))

func main() {
	ships := make([]ship, 40)
	for n := range ships {
		ships[n] = ship{Name: fmt.Sprintf("Ship %d", n), Tonnes: 300 + n*7919%5000}
	}
	// Its default mode is for development, and writes a line for each request.
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.Use(gin.Recovery(), plant())
	engine.SetHTMLTemplate(page)
	engine.GET("/harbours/:name/ships", func(c *gin.Context) {
		first, _ := strconv.Atoi(c.DefaultQuery("from", "0"))
		if first < 0 || first > len(ships) {
			first = 0
		}
		c.HTML(http.StatusOK, "ships", gin.H{"Harbour": c.Param("name"), "Ships": ships[first:]})
	})
	if err := engine.Run("127.0.0.1:" + os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
