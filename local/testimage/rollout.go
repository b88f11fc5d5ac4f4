package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// rollout serves, and crashes after some milliseconds: at the first starts, of the first pods that
// share a folder. The folder gets a file for each pod with the times of its starts and crashes.
func rollout(a arguments) int {
	folder, after := a.text(1, "/data"), a.number(2, -1)
	pod, err := os.Hostname()
	if err != nil {
		panic(err)
	}
	file := filepath.Join(folder, pod)
	before, _ := os.ReadFile(file) // there is none at first
	starts := strings.Count(string(before), "start")
	note(file, "start")
	fails := a.number(3, 0) == 0 || starts < a.number(3, 0)
	if after >= 0 && fails && claim(folder, pod, a.number(4, 0)) {
		crash := func() {
			fmt.Fprintln(os.Stderr, "fatal: crashed as planned")
			note(file, "crash")
			os.Exit(1)
		}
		if after == 0 {
			crash()
		}
		time.AfterFunc(time.Duration(after)*time.Millisecond, crash)
	}
	return serve(a[:1])
}

// note appends what happens now, with the time in nanoseconds.
func note(file, what string) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = fmt.Fprintln(f, what, time.Now().UnixNano())
	}
	if err != nil {
		panic(err)
	}
	f.Close()
}

// claim reports whether a pod is one of so many that were first in a folder; 0 is all.
func claim(folder, pod string, pods int) bool {
	for i := range pods {
		link := filepath.Join(folder, "claim-"+strconv.Itoa(i))
		_ = os.Symlink(pod, link) // another pod, or this one, may have been first
		if first, err := os.Readlink(link); err == nil && first == pod {
			return true
		}
	}
	return pods == 0
}
