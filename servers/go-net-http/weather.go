package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"
)

// What of the upstream's answer is looked at. A field that is missing is not the same as a zero.
type report struct {
	Cod     *int    `json:"cod"`
	Message *string `json:"message"`
	Weather []struct {
		ID *float64 `json:"id"`
	} `json:"weather"`
	Main struct {
		Temp *float64 `json:"temp"`
	} `json:"main"`
}

type summary struct {
	Code int `json:"code"`
	Temp int `json:"temp"`
}

// GET /weather/{city} -> a summary of the upstream's answer, fetched for every request.
func weather(upstream string) http.HandlerFunc {
	// As many idle connections are kept as there are requests under way, so that the pool is not
	// what is measured.
	client := &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 4096, DisableCompression: true},
		Timeout:   2 * time.Second,
	}
	url := "http://" + upstream + "/weather.json"
	return func(w http.ResponseWriter, r *http.Request) {
		city, found := strings.CutPrefix(r.URL.Path, "/weather/")
		city = strings.TrimSuffix(city, "/")
		if r.Method != http.MethodGet || !found || city == "" || strings.Contains(city, "/") {
			sendJSON(w, http.StatusNotFound, refusal{"not found"})
			return
		}
		report, err := fetch(client, url)
		if err != nil {
			sendJSON(w, http.StatusBadGateway, refusal{"upstream: " + err.Error()})
			return
		}
		if *report.Cod != http.StatusOK {
			sendJSON(w, http.StatusBadRequest, refusal{*report.Message})
			return
		}
		sendJSON(w, http.StatusOK, summary{
			Code: int(*report.Weather[0].ID),
			Temp: int(math.Trunc(*report.Main.Temp)),
		})
	}
}

func fetch(client *http.Client, url string) (of report, err error) {
	response, err := client.Get(url)
	if err != nil {
		return of, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return of, fmt.Errorf("status %d", response.StatusCode)
	}
	// To its end, without which the connection would not be used again.
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return of, err
	}
	if err := json.Unmarshal(text, &of); err != nil {
		return of, err
	}
	return of, of.check()
}

// check says what is missing for a summary, or for an error.
func (of report) check() error {
	switch {
	case of.Cod == nil:
		return errors.New("no cod")
	case *of.Cod != http.StatusOK && of.Message == nil:
		return errors.New("no message")
	case *of.Cod == http.StatusOK && (len(of.Weather) == 0 || of.Weather[0].ID == nil):
		return errors.New("no weather[0].id")
	case *of.Cod == http.StatusOK && of.Main.Temp == nil:
		return errors.New("no main.temp")
	}
	return nil
}
