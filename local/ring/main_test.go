package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	r, err := parse(strings.Fields("-name long -limit 9 -runs 2 -busy 3 a b -- make -C x {}"))
	if err != nil {
		t.Fatal(err)
	}
	if r.name != "long" || r.limit != 9 || r.runs != 2 || r.busy != 3 ||
		!cmp.Equal(r.parts, []string{"a", "b"}) ||
		!cmp.Equal(r.command, []string{"make", "-C", "x", "{}"}) {
		t.Errorf("parsed %+v", r)
	}
	for _, args := range []string{"", "a", "-- make", "a --", "-limit x a -- make", "-other a -- b"} {
		if _, err := parse(strings.Fields(args)); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

// A part that fails is named at the end, and neither repeated nor the last to run.
func TestRun(t *testing.T) {
	for name, tc := range map[string]struct {
		ring  ring
		fails string // the command, after its number, that fails
		want  []string
		err   string
	}{
		"success": {
			ring: ring{name: "long", limit: 10, runs: 1, parts: []string{"a", "b"}},
			want: []string{"1 make a", "2 make b", "a took 5m0s", "b took 5m0s",
				"make long took 10 minutes of 10"},
		},
		"outgrown": {
			ring: ring{name: "long", limit: 4, runs: 1, parts: []string{"a"}},
			want: []string{"1 make a", "a took 5m0s",
				"make long took 5 minutes of 4: it has outgrown its limit"},
		},
		"failure": {
			ring:  ring{name: "long", limit: 10, runs: 1, parts: []string{"a", "b"}},
			fails: "1 make a",
			want: []string{"1 make a", "2 make b", "a failed after 5m0s: exit status 2",
				"b took 5m0s", "make long took 10 minutes of 10"},
			err: "failed: a",
		},
		"runs": {
			ring:  ring{runs: 3, parts: []string{"a"}},
			fails: "2 make a",
			want: []string{"1 make a", "2 make a", "3 make a", "a, run 1 of 3 took 5m0s",
				"a, run 2 of 3 failed after 5m0s: exit status 2", "a, run 3 of 3 took 5m0s"},
			err: "failed: a, run 2 of 3",
		},
		"interrupt": {
			ring:  ring{runs: 3, parts: []string{"a"}},
			fails: "interrupt",
			want:  []string{"1 make a", "a, run 1 of 3 failed after 5m0s: context canceled"},
			err:   "interrupted in a, run 1 of 3",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var ran []string
				var out strings.Builder
				r := tc.ring
				r.command, r.out = []string{"make", "{}"}, &out
				r.execute = func(ctx context.Context, command []string) error {
					ran = append(ran, string(rune('1'+len(ran)))+" "+strings.Join(command, " "))
					time.Sleep(5 * time.Minute)
					switch tc.fails {
					case ran[len(ran)-1]:
						return errors.New("exit status 2")
					case "interrupt":
						cancel()
					}
					return ctx.Err()
				}
				err := r.run(ctx)
				got := append(ran, strings.Split(strings.TrimSpace(out.String()), "\n")...)
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				text := ""
				if err != nil {
					text = err.Error()
				}
				if text != tc.err {
					t.Errorf("error %q, want %q", text, tc.err)
				}
			})
		})
	}
}

// All are busy until none is to be.
func TestKeepBusy(t *testing.T) {
	processors, began, busy := runtime.GOMAXPROCS(0), make(chan bool), atomic.Int32{}
	idle := keepBusy(3, func(ended *atomic.Bool) {
		busy.Add(1)
		began <- true
		compute(ended)
		busy.Add(-1)
	})
	for range 3 {
		<-began
	}
	if n, most := busy.Load(), runtime.GOMAXPROCS(0); n != 3 || most != processors+3 {
		t.Errorf("%d are busy, on %d processors", n, most)
	}
	idle()
	if n, most := busy.Load(), runtime.GOMAXPROCS(0); n != 0 || most != processors {
		t.Errorf("%d are still busy, on %d processors", n, most)
	}
}

// The end of a ring terminates its command.
func TestExecute(t *testing.T) {
	err := execute(t.Context(), []string{"sh", "-c", "exit 3"})
	if err == nil || err.Error() != "exit status 3" {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	begun := filepath.Join(t.TempDir(), "begun")
	if err := syscall.Mkfifo(begun, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { // ends when the command has begun
		defer cancel()
		_, _ = os.ReadFile(begun)
	}()
	err = execute(ctx, []string{"sh", "-c", "echo >" + begun + "; exec sleep 1000"})
	if err == nil || err.Error() != "signal: terminated" {
		t.Errorf("error %v", err)
	}
}
