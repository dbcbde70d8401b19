package main

import (
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/sys/unix"
)

// CPU time of the calling thread.
func used() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now)
	return time.Duration(now.Nano())
}

// Burns PLANT_US microseconds of CPU time for each request.
func plant() gin.HandlerFunc {
	us, _ := strconv.ParseFloat(os.Getenv("PLANT_US"), 64)
	length := time.Duration(us * float64(time.Microsecond))
	return func(*gin.Context) {
		if length == 0 {
			return
		}
		// The clock is a thread's: the goroutine must not move to another.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for end := used() + length; used() < end; {
		}
	}
}
