// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

// A Go program that leaks memory of C's: from main, from goroutines, and from a Go function that C has called. It says
// "ready" and its process, waits for a line, and prints, as JSON in one line, how many bytes each place has leaked, and
// the stack there as Go's own runtime sees it, innermost first. It ends with its input.
package main

/*
#include <stdlib.h>

extern void goCallback(int n);

static void *make_block(size_t n)
{
	return malloc(n);
}

// Is not to become a jump: it is part of the truth.
static int call_back(int n)
{
	goCallback(n);
	return n + 1;
}
*/
import "C"

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"sync"
	"unsafe"
)

type frame struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
}

type site struct {
	Bytes int     `json:"bytes"`
	Count int     `json:"count"`
	Stack []frame `json:"stack"`
}

var (
	lock  sync.Mutex
	sites = map[int]*site{}
	kept  []unsafe.Pointer
)

// The frames from its caller on.
func here() []frame {
	var stack []frame
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		f, more := frames.Next()
		stack = append(stack, frame{f.Function, f.File, f.Line})
		if !more {
			return stack
		}
	}
}

//go:noinline
func keep(n int, block unsafe.Pointer, stack []frame) {
	lock.Lock()
	defer lock.Unlock()
	kept = append(kept, block)
	if sites[n] == nil {
		sites[n] = &site{Stack: stack}
	}
	sites[n].Bytes += n
	sites[n].Count++
}

//go:noinline
func keepBlock(n int) {
	keep(n, C.make_block(C.size_t(n)), here())
}

//go:noinline
func handleRequest(n int) {
	keepBlock(n)
}

type server struct{ size int }

//go:noinline
func (s *server) serve(done *sync.WaitGroup) {
	// A stack that has grown has moved.
	var room [100000]byte
	for i := 0; i < 10; i++ {
		room[i] = byte(i)
		handleRequest(s.size + int(room[0]))
	}
	done.Done()
}

//export goCallback
//go:noinline
func goCallback(n C.int) {
	keepFromCallback(int(n))
}

//go:noinline
func keepFromCallback(n int) {
	keep(n, C.make_block(C.size_t(n)), here())
}

//go:noinline
func deep(n int, depth int) {
	if depth > 0 {
		deep(n, depth-1)
		return
	}
	handleRequest(n)
}

func main() {
	var done sync.WaitGroup
	in := bufio.NewReader(os.Stdin)

	fmt.Println("ready", os.Getpid())
	in.ReadString('\n')
	for i := 0; i < 10; i++ {
		handleRequest(1001)
	}
	deep(1009, 40)
	for i := 0; i < 3; i++ {
		done.Add(1)
		go (&server{2003}).serve(&done)
	}
	done.Wait()
	for i := 0; i < 10; i++ {
		C.call_back(3001)
	}
	all := []*site{}
	for _, s := range sites {
		all = append(all, s)
	}
	json.NewEncoder(os.Stdout).Encode(all)
	in.ReadString('\n')
}
