// A server of HTTP in which one cause of a higher cost per request is planted: `why-go PORT CAUSE`.
package main

import (
	"bytes"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const (
	// Some 10 µs.
	work = 10_000
	// Requests that share a new page.
	perPage = 4
	// Memory that each request allocates, if it does.
	block = 16 << 10
)

var (
	cause  = os.Args[2]
	head   = []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
	body   = []byte("ok")
	whole  = append(append([]byte{}, head...), body...)
	ending = []byte("\r\n\r\n")
	shared sync.Mutex
	result uint32
	blocks = sync.Pool{New: func() any { return new([block]byte) }}
	kept   *[block]byte
	grown  growing
)

type growing struct {
	sync.Mutex
	pages []byte
	used  int
}

//go:noinline
func jsonEncode(n int) {
	x := uint32(1)
	for i := range n {
		x = x*31 + uint32(i)
	}
	result = x
}

// Memory that is never given back.
func (it *growing) more() {
	it.Lock()
	defer it.Unlock()
	if it.pages == nil {
		kind := syscall.MAP_PRIVATE | syscall.MAP_ANON | syscall.MAP_NORESERVE
		pages, err := syscall.Mmap(-1, 0, 64<<30, syscall.PROT_READ|syscall.PROT_WRITE, kind)
		if err != nil {
			os.Exit(1)
		}
		it.pages = pages
	}
	it.pages[it.used%len(it.pages)] = 1
	it.used += 4096 / perPage
}

func answer(to net.Conn, lock *sync.Mutex) {
	// With a lock, another goroutine runs while it is held: whether that waits depends on whose lock it is.
	if lock != nil {
		lock.Lock()
	}
	n := work
	if cause == "work" {
		n += work / 20
	}
	jsonEncode(n)
	if lock != nil {
		runtime.Gosched()
		lock.Unlock()
	}
	switch cause {
	case "calls":
		syscall.Getppid()
		syscall.Getppid()
	case "faults":
		grown.more()
	case "sleep":
		moment := syscall.Timespec{Nsec: 1}
		syscall.Syscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&moment)), 0, 0)
	case "heap":
		block := blocks.Get().(*[block]byte)
		block[0]++
		blocks.Put(block)
	case "alloc":
		kept = new([block]byte)
		kept[0]++
	}
	if cause == "writes" || cause == "nagle" {
		to.Write(head)
		to.Write(body)
		return
	}
	to.Write(whole)
}

func serve(from net.Conn) {
	defer from.Close()
	var own sync.Mutex
	var lock *sync.Mutex
	switch cause {
	case "lock":
		lock = &shared
	case "own-locks":
		lock = &own
	case "nagle":
		from.(*net.TCPConn).SetNoDelay(false)
	}
	bytesRead := make([]byte, 65536)
	for {
		n, err := from.Read(bytesRead)
		if err != nil {
			return
		}
		for range bytes.Count(bytesRead[:n], ending) {
			answer(from, lock)
		}
	}
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		os.Exit(1)
	}
	for {
		from, err := listener.Accept()
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		go serve(from)
	}
}
