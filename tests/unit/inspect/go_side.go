// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

// A Go program that knows what its heap is made of: objects of known types, goroutines that never end, maps, a cache.
// It says so in lines ("name value"), then "ready". After that it stands still in a raw read, and allocates
// nothing, so that what it said holds. "churn" as an argument: other goroutines allocate all the time, and only what stays is said.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

type Session struct {
	id   int
	name string
	next *Session
	data []byte
}

type Login struct{ user, host string }

type Logout struct {
	at   int64
	user string
}

type Big struct {
	items [100]*Session
}

type Event interface{ When() int }

func (l *Login) When() int  { return 1 }
func (l *Logout) When() int { return 2 }

var (
	sessions []*Session
	events   []Event
	bigs     []*Big
	byName   = map[string]*Session{}
	handlers []func() int
	lock     sync.Mutex
	nothing  chan int
	buffer   []byte
	one      [1]byte
)

//go:noinline
func fill() {
	for i := 0; i < 20000; i++ {
		s := &Session{id: i, name: fmt.Sprint("session ", i)}
		sessions = append(sessions, s)
		byName[s.name] = s
	}
	for i := 0; i < 10000; i++ {
		events = append(events, &Login{"somebody", "here"}, &Logout{at: int64(i)})
	}
	for i := 0; i < 1000; i++ {
		big := &Big{}
		bigs = append(bigs, big)
		handlers = append(handlers, func() int { return cap(big.items[0].data) })
	}
	buffer = make([]byte, 3<<20)
}

//go:noinline
func leakReceive(c chan int) { <-c }

//go:noinline
func leakSend(c chan int) { c <- 1 }

//go:noinline
func leakLock() {
	lock.Lock()
	lock.Unlock()
}

//go:noinline
func leakSelect(c chan int) {
	select {
	case <-c:
	case <-nothing:
	}
}

//go:noinline
func leakSleep() { time.Sleep(time.Hour) }

func goroutines() {
	never := make(chan int)
	lock.Lock()
	for i := 0; i < 100; i++ {
		go leakReceive(never)
	}
	for i := 0; i < 70; i++ {
		go leakSend(make(chan int))
	}
	for i := 0; i < 50; i++ {
		go leakLock()
	}
	for i := 0; i < 60; i++ {
		go leakSelect(never)
	}
	for i := 0; i < 30; i++ {
		go leakSleep()
	}
}

// Until all of them wait, which the profile tells.
func settle() {
	for {
		var text strings.Builder
		pprof.Lookup("goroutine").WriteTo(&text, 2)
		waiting := 0
		for _, want := range []string{"[chan receive", "[chan send", "[select", "[sleep", "[sync.Mutex.Lock", "[semacquire"} {
			waiting += strings.Count(text.String(), want)
		}
		if waiting >= 310 {
			return
		}
		runtime.Gosched()
	}
}

type keep struct{ bytes []byte }

// Always makes garbage, of all sizes.
func churn(seed int) {
	var kept [64]*keep
	for i := seed; ; i++ {
		kept[i%64] = &keep{make([]byte, i*37%5000)}
		if i%1000 == 0 {
			byOther := map[int]*keep{}
			for n := 0; n < 100; n++ {
				byOther[n] = kept[n%64]
			}
		}
	}
}

func say(out *[]byte, name string, value uint64) {
	*out = append(*out, name...)
	*out = append(*out, ' ')
	var digits [20]byte
	n := len(digits)
	for {
		n--
		digits[n] = byte('0' + value%10)
		value /= 10
		if value == 0 {
			break
		}
	}
	*out = append(*out, digits[n:]...)
	*out = append(*out, '\n')
}

func profileLines(out []byte) []byte {
	var records [4096]runtime.MemProfileRecord
	n, ok := runtime.MemProfile(records[:], true)
	if !ok {
		return out
	}
	var stacks, live uint64
	for i := 0; i < n; i++ {
		if records[i].AllocObjects > 0 {
			stacks++
			live += uint64(records[i].InUseObjects())
		}
	}
	say(&out, "profile_stacks", stacks)
	say(&out, "profile_live", live)
	return out
}

// Raw system calls: the runtime does not take the processor away, nor start a thread.
func stand(out []byte) {
	syscall.RawSyscall(syscall.SYS_WRITE, 1, uintptr(unsafe.Pointer(&out[0])), uintptr(len(out)))
	syscall.RawSyscall(syscall.SYS_READ, 0, uintptr(unsafe.Pointer(&one)), 1)
}

func main() {
	var m runtime.MemStats
	out := make([]byte, 0, 1<<16)

	runtime.MemProfileRate = 65536
	fill()
	goroutines()
	settle()
	if len(os.Args) > 1 && os.Args[1] == "churn" {
		debug.SetGCPercent(10)
		go churn(0)
		go churn(7)
		fmt.Println("ready")
		os.Stdin.Read(make([]byte, 1))
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "garbage" {
		for i := range sessions {
			if i%2 == 1 {
				delete(byName, sessions[i].name)
				sessions[i] = nil
			}
		}
	}
	runtime.GC()
	runtime.GC()
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(1)
	out = profileLines(out)
	// Until nothing is allocated in between: a thread that is started has memory of its own.
	for before := uint64(0); before == 0 || before != m.Mallocs; {
		before = m.Mallocs
		runtime.ReadMemStats(&m)
	}
	say(&out, "alloc", m.HeapAlloc)
	say(&out, "inuse", m.HeapInuse)
	say(&out, "objects", m.HeapObjects)
	say(&out, "stack", m.StackInuse)
	say(&out, "goroutines", uint64(runtime.NumGoroutine()))
	out = append(out, "ready\n"...)
	stand(out)
	fmt.Fprintln(os.Stderr, len(sessions), len(events), len(bigs), len(byName), len(handlers), len(buffer))
}
