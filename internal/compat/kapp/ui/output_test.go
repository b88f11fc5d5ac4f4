package ui

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// broken is a writer that takes some bytes and then returns an error.
type broken struct {
	left int
	err  error
	got  strings.Builder
}

func (b *broken) Write(data []byte) (int, error) {
	if b.left -= len(data); b.left < 0 {
		return 0, b.err
	}
	return b.got.Write(data)
}

func TestLost(t *testing.T) {
	for _, test := range []struct {
		name, errs string
		err        error
		failed     error
		code       int
	}{
		{name: "full", err: syscall.ENOSPC, code: 1,
			errs: "kapp: Error: Writing output: no space left on device\n"},
		{name: "nobody reads", err: syscall.EPIPE, code: 0},
		{name: "nobody reads, and failed", err: syscall.EPIPE, failed: DiffExit(true), code: 3,
			errs: "kapp: Error: Exiting after diffing with pending changes (exit status 3)\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var errs strings.Builder
			out := &broken{left: 4, err: test.err}
			u := New(Options{Out: out, Err: &errs, Name: "kapp"})
			u.Block("one\n")
			u.output.drain()
			for range 1000 {
				u.Block("two\n")
			}
			if code := u.Close(test.failed); code != test.code || errs.String() != test.errs {
				t.Errorf("exit code %d, printed %q", code, errs.String())
			}
			if !errors.Is(u.WriteError(), test.err) || out.got.String() != "one\n" {
				t.Errorf("lost %v after %q", u.WriteError(), out.got.String())
			}
		})
	}
}

// TestSlow prints while nobody reads: printing does not block, and nothing is lost.
func TestSlow(t *testing.T) {
	reader, writer := io.Pipe()
	u := New(Options{Out: writer, Err: io.Discard})
	var want strings.Builder
	for i := range 10000 {
		u.Part(fmt.Sprintln("line", i))
		fmt.Fprintln(&want, "line", i)
	}
	u.Quiet()
	read := make(chan string)
	go func() { // the test takes what it reads
		text, _ := io.ReadAll(reader)
		read <- string(text)
	}()
	u.Close(nil)
	writer.Close()
	if got := <-read; got != want.String() {
		t.Errorf("%d bytes of %d", len(got), want.Len())
	}
}

// TestTogether prints from many goroutines.
func TestTogether(t *testing.T) {
	var out strings.Builder
	u := New(
		Options{Out: &out, Err: io.Discard, Debug: true, Now: func() time.Time { return time.Time{} }},
	)
	logs := Logs{UI: u, Prefix: "logs", Tagged: true}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				u.Warn("deprecated")
				logs.Line("pod > main", "hello")
				u.Debug("start", "Listing")
			}
		})
	}
	all.Wait()
	u.Quiet()
	u.Close(nil)
	counts := map[string]int{}
	for line := range strings.Lines(out.String()) {
		counts[line]++
	}
	if len(counts) != 3 || counts["Warning: deprecated\n"] != 1 ||
		counts["logs | pod > main | hello\n"] != 400 ||
		counts["12:00:00AM: debug: Listing: start\n"] != 400 {
		t.Errorf("printed %v", counts)
	}
}

// TestLogs prints the logs of containers in each mode.
func TestLogs(t *testing.T) {
	for mode, want := range map[Mode]string{
		Decorated: "logs | # starting tailing 'pod > main' logs\nlogs | pod > main | a\npod > main | " +
			"b\nc\n02:03:04PM: info: App: text\n",
		Plain: "logs | pod > main | a\npod > main | b\nc\n",
		JSON: "{\n    \"Tables\": null,\n    \"Blocks\": [\n        \"logs | pod \\u003e main | " +
			"a\\n\",\n        \"pod \\u003e main | b\\n\",\n" +
			"        \"c\\n\"\n    ],\n    \"Lines\": [\n        \"logs | # starting tailing 'pod " +
			"\\u003e main' logs\\n\",\n        \"02:03:04PM: info: App: text\\n\"\n    ]\n}",
	} {
		var out strings.Builder
		u := New(
			Options{
				Out:  &out,
				Err:  io.Discard,
				Mode: mode,
				Now:  func() time.Time { return time.Date(2026, 1, 1, 14, 3, 4, 0, time.UTC) },
			},
		)
		logs := Logs{UI: u, Prefix: "logs", Tagged: true}
		logs.Note("starting tailing 'pod > main' logs")
		logs.Line("pod > main", "a\n")
		Logs{UI: u, Tagged: true}.Line("pod > main", "b\n")
		Logs{UI: u}.Line("pod > main", "c")
		u.Info("text", "App")
		u.Debug("not asked for", "App")
		u.Quiet()
		if u.Close(nil); out.String() != want {
			t.Errorf("mode %d: %q", mode, out.String())
		}
	}
}

func TestColours(t *testing.T) {
	for _, test := range []struct {
		env      string
		terminal bool
		want     bool
	}{
		{"", false, false}, {"", true, true}, {"TERM=dumb", true, false}, {"NO_COLOR=1", true, false},
		{"FORCE_COLOR=1", false, true}, {"FORCE_COLOR=0", true, false},
		{"FORCE_COLOR=1 TERM=dumb NO_COLOR=1", false, true},
	} {
		getenv := func(name string) string {
			for field := range strings.FieldsSeq(test.env) {
				if value, ok := strings.CutPrefix(field, name+"="); ok {
					return value
				}
			}
			return ""
		}
		if got := Colours(test.terminal, getenv); got != test.want {
			t.Errorf("terminal %v with %q: %v", test.terminal, test.env, got)
		}
	}
}

// TestDull colours a run's lines, but neither tables nor errors.
func TestDull(t *testing.T) {
	for dull, want := range map[bool][2]string{
		false: {"\x1b[1mA\x1b[0m  \n\x1b[31mx\x1b[0m  \n", "\x1b[31mkapp: Error: bad\x1b[0m\n"},
		true:  {"A  \nx  \n", "kapp: Error: bad\n"},
	} {
		var out, errs strings.Builder
		u := New(Options{Out: &out, Err: &errs, Name: "kapp", Colour: true, NoColour: dull})
		if err := u.Table(Table{Header: Columns("A"),
			Rows: [][]Cell{{{Text: "x", Style: Red}}}}); err != nil {
			t.Fatal(err)
		}
		u.Part(u.Paint(Faint, " ^ ") + "why\n")
		u.Close(errors.New("bad"))
		if out.String() != want[0]+"\n\x1b[2m ^ \x1b[0mwhy\n\n" || errs.String() != want[1] {
			t.Errorf("printed %q and %q", out.String(), errs.String())
		}
	}
}

func TestBanner(t *testing.T) {
	for _, test := range []struct {
		node, want string
		more       int
	}{
		{"", "Target cluster 'https://h:1'\n", 0},
		{"a", "Target cluster 'https://h:1' (nodes: a)\n", 0},
		{"a", "Target cluster 'https://h:1' (nodes: a, 2+)\n", 2},
	} {
		var out strings.Builder
		u := New(Options{Out: &out, Err: io.Discard})
		u.Banner("https://h:1", test.node, test.more)
		u.Banner("https://h:1", test.node, test.more)
		u.Quiet()
		if u.Close(nil); out.String() != test.want {
			t.Errorf("printed %q", out.String())
		}
	}
}
