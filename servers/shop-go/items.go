package main

import (
	"strconv"
	"strings"
)

// As many are found at most.
const found = 10

type item struct {
	ID    int    `json:"id"`
	Name  string `json:"name"`
	Price int    `json:"price"` // in cents
}

// What the shop has. It never changes.
var items = stock()

func stock() []item {
	colours := []string{"red", "blue", "green", "white", "black", "grey", "brown", "pink", "gold", "silver"}
	things := []string{"kettle", "lamp", "chair", "desk", "clock", "mug", "plate", "rug", "vase", "shelf"}
	all := make([]item, 1000)
	for id := range all {
		colour, thing := colours[id%10], things[id/10%10]
		all[id] = item{id, colour + " " + thing + " " + strconv.Itoa(id), 100 + id*7919%9900}
	}
	return all
}

// The item that a text is the number of.
func itemOf(text string) (item, bool) {
	id, err := strconv.Atoi(text)
	if err != nil || id < 0 || id >= len(items) || strconv.Itoa(id) != text {
		return item{}, false
	}
	return items[id], true
}

// All items whose names contain a text are counted, and the first ones given.
func search(text string) (first []item, total int) {
	first = []item{}
	for _, item := range items {
		if strings.Contains(item.Name, text) {
			if total++; total <= found {
				first = append(first, item)
			}
		}
	}
	return first, total
}
