//go:build profile

package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
)

// allocatedPerSample is how many bytes are allocated from one sample of the profile to the next.
const allocatedPerSample = 64 << 10

// init makes the program write NAME.cpu.pprof and NAME.allocs.pprof at its end, where NAME is in
// the environment variable MUSTER_PROFILE.
func init() {
	name := os.Getenv("MUSTER_PROFILE")
	if name == "" {
		return
	}
	runtime.MemProfileRate = allocatedPerSample
	inner := run
	run = func() int {
		used, err := os.Create(name + ".cpu.pprof")
		if err == nil {
			err = pprof.StartCPUProfile(used)
		}
		if err != nil {
			return complain(err)
		}
		code := inner()
		pprof.StopCPUProfile()
		if err := used.Close(); err != nil {
			return complain(err)
		}
		allocated, err := os.Create(name + ".allocs.pprof")
		if err != nil {
			return complain(err)
		}
		if err := pprof.Lookup("allocs").WriteTo(allocated, 0); err != nil {
			return complain(err)
		}
		if err := allocated.Close(); err != nil {
			return complain(err)
		}
		return code
	}
}

// complain prints why there are no profiles, and returns the exit code.
func complain(err error) int {
	fmt.Fprintln(os.Stderr, "muster: profiles:", err)
	return 1
}
