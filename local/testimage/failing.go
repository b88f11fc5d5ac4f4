package main

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"os"
	"time"
)

// serve serves HTTP until the container is to stop.
func serve(a arguments) int {
	begin, patience := time.Now(), time.Duration(a.number(1, 0))*time.Second
	http.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) {
		if time.Since(begin) < patience {
			http.Error(w, "warming up", http.StatusServiceUnavailable)
		}
	})
	http.HandleFunc("/never", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the database is away", http.StatusServiceUnavailable)
	})
	http.HandleFunc("/slow", func(http.ResponseWriter, *http.Request) { time.Sleep(time.Minute) })
	address := ":" + a.text(0, "8080")
	fmt.Println("listening on", address)
	// Ends with the process.
	go func() {
		fmt.Fprintln(os.Stderr, "fatal:", http.ListenAndServe(address, nil))
		os.Exit(1)
	}()
	awaitSignal()
	fmt.Println("stopping")
	return 0
}

// late serves after a while in which it does not listen.
func late(a arguments) int {
	a.wait(0)
	return serve(arguments{a.text(2, "8080"), a.text(1, "0")})
}

// get reports whether an HTTP server answers with success, as probes with a command do.
func get(a arguments) int {
	answer, err := http.Get(a[0])
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	case answer.StatusCode != http.StatusOK:
		fmt.Fprintln(os.Stderr, answer.Status)
		return 1
	}
	return 0
}

func crash(a arguments) int {
	fmt.Println("starting")
	a.wait(1)
	fmt.Fprintln(os.Stderr, a.text(2, "fatal: cannot reach the database at db:5432"))
	return a.number(0, 1)
}

func flaky(a arguments) int {
	const file = "/data/starts"
	starts, _ := os.ReadFile(file) // there is none at first
	if len(starts) < a.number(0, 1) {
		if err := os.WriteFile(file, append(starts, 'x'), 0o644); err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stderr, "fatal: the database does not answer yet")
		return 1
	}
	return serve(nil)
}

// random crashes at a moment that follows from the seed and the name of the pod.
func random(a arguments) int {
	name, _ := os.Hostname()
	sum := fnv.New32a() // in which the last letter counts, too
	fmt.Fprint(sum, a.text(0, ""), name)
	n := int(sum.Sum32() >> 8)
	if n%100 < a.number(1, 50) {
		// Ends with the process.
		go func() {
			time.Sleep(time.Duration(n/100%5000) * time.Millisecond)
			fmt.Fprintln(os.Stderr, "fatal: crashed at random")
			os.Exit(1)
		}()
	}
	return serve(nil)
}

func message(a arguments) int {
	for i := range a.number(2, 0) {
		fmt.Println("line", i+1)
	}
	err := os.WriteFile("/dev/termination-log", []byte(a.text(0, "the licence has expired")), 0o644)
	if err != nil {
		panic(err)
	}
	return a.number(1, 7)
}

func fillMemory(a arguments) int {
	const page = 4096
	fmt.Println("loading the index")
	kept := make([][]byte, a.number(0, 1024))
	for i := range kept {
		kept[i] = make([]byte, 1<<20)
		for at := 0; at < len(kept[i]); at += page {
			kept[i][at] = 1
		}
	}
	fmt.Println("loaded", len(kept), "MiB")
	awaitSignal()
	return len(kept[0]) & 1
}

func fillFile(a arguments) int {
	file := a.text(0, "/data/file")
	if err := os.WriteFile(file, make([]byte, a.number(1, 5)<<20), 0o644); err != nil {
		panic(err)
	}
	fmt.Println("wrote", file)
	awaitSignal()
	return 0
}
