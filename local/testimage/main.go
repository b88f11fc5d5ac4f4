// Command testimage is the only program in the image that the registry of a real node serves for
// every name. The arguments of a container say how it behaves:
//
//	serve [PORT [SECONDS]]        serves HTTP: /ready after SECONDS, /never fails, /slow hangs
//	late SECONDS [READY [PORT]]   the same, but listens only after SECONDS
//	get URL                       ends with code 0 if an HTTP server answers so
//	crash [CODE [SECONDS [TEXT]]] prints TEXT and ends with CODE after SECONDS
//	flaky N                       ends with code 1 the first N times, counted in /data, then serves
//	random SEED PERCENT           serves, and crashes after up to 5 seconds in PERCENT of all pods
//	rollout PORT FOLDER MILLISECONDS [STARTS [PODS]]
//	                              serves, and crashes at the first STARTS of the first PODS pods;
//	                              FOLDER, which pods share, gets the times of starts and crashes
//	panic                         ends by a Go panic
//	message TEXT [CODE [LINES]]   prints LINES, writes a termination message and ends with CODE
//	oom [MIB]                     needs that much memory
//	fill FILE [MIB]               writes a file of that size and keeps running
//	slowstop SECONDS              needs that long to stop after SIGTERM
//	stubborn                      ignores SIGTERM
//	sleep SECONDS                 ends with code 0 after that long
//	exit [CODE]                   ends at once
//	echo TEXT...                  prints its arguments and ends
//	env                           prints its environment and ends
//	pause                         holds the namespaces of a pod
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	args := os.Args[1:]
	if len(args) == 0 {
		args = []string{"serve"}
	}
	command, ok := commands()[args[0]]
	if !ok {
		fmt.Fprintf(os.Stderr, "unknown command %q\n", args[0])
		os.Exit(64)
	}
	os.Exit(command(args[1:]))
}

// arguments are those of a command.
type arguments []string

// text returns an argument, or otherwise if it is missing.
func (a arguments) text(i int, otherwise string) string {
	if i < len(a) {
		return a[i]
	}
	return otherwise
}

// first returns the length of the first argument, and panics without one.
func (a arguments) first() int { return len(a[0]) }

// number returns an argument that is a number, or otherwise if it is missing.
func (a arguments) number(i, otherwise int) int {
	n, err := strconv.Atoi(a.text(i, strconv.Itoa(otherwise)))
	if err != nil {
		panic(err)
	}
	return n
}

// wait sleeps for as many seconds as an argument says.
func (a arguments) wait(i int) { time.Sleep(time.Duration(a.number(i, 0)) * time.Second) }

// commands returns what each command does; the result is the exit code.
func commands() map[string]func(arguments) int {
	return map[string]func(arguments) int{
		"serve": serve, "late": late, "get": get, "crash": crash, "flaky": flaky, "random": random,
		"rollout": rollout, "oom": fillMemory, "fill": fillFile, "message": message, "pause": pause,
		"panic": func(arguments) int {
			fmt.Println("starting")
			return map[string]arguments{}["requests"].first()
		},
		"slowstop": func(a arguments) int {
			fmt.Println("running")
			awaitSignal()
			fmt.Println("draining")
			a.wait(0)
			return 0
		},
		"stubborn": func(arguments) int {
			signal.Ignore(syscall.SIGTERM)
			fmt.Println("running")
			for {
				time.Sleep(time.Hour)
			}
		},
		"sleep": func(a arguments) int { a.wait(0); return 0 },
		"exit":  func(a arguments) int { return a.number(0, 0) },
		"echo":  func(a arguments) int { fmt.Println(strings.Join(a, " ")); return 0 },
		"env":   func(arguments) int { fmt.Println(strings.Join(os.Environ(), "\n")); return 0 },
	}
}

// awaitSignal returns when the container is to stop.
func awaitSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	<-signals
}

// pause holds the namespaces of a pod, and reaps what its containers leave.
func pause(arguments) int {
	// Ends with the process.
	go func() {
		for {
			if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil {
				time.Sleep(time.Second)
			}
		}
	}()
	awaitSignal()
	return 0
}
