// Files that are kept in memory, compressed once where that makes them smaller.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

type file struct {
	media  string
	plain  []byte
	packed []byte
}

type files map[string]file

func readFiles(folder string) (files, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	all := files{}
	for _, entry := range entries {
		plain, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		packed, err := pack(plain)
		if err != nil {
			return nil, err
		}
		media := mime.TypeByExtension(filepath.Ext(entry.Name()))
		if media == "" {
			media = http.DetectContentType(plain)
		}
		all[entry.Name()] = file{media, plain, packed}
	}
	return all, nil
}

// pack compresses; nil when nothing is gained.
func pack(plain []byte) ([]byte, error) {
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = writer.Write(plain)
	if err := errors.Join(err, writer.Close()); err != nil {
		return nil, err
	}
	if packed.Len() >= len(plain) {
		return nil, nil
	}
	return packed.Bytes(), nil
}

func (all files) send(w http.ResponseWriter, r *http.Request) {
	found, ok := all[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	body := found.plain
	if found.packed != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		body = found.packed
	}
	w.Header().Set("Content-Type", found.media)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("Vary", "Accept-Encoding")
	w.Write(body)
}
