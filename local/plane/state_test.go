package plane

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

func TestState(t *testing.T) {
	p := newPaths(t)
	want := &state{
		Nodes:     3,
		Bin:       "/bin",
		Boot:      7,
		Ports:     ports{Etcd: 1},
		Processes: map[string]process{etcd: {PID: 2, Started: 3}},
	}
	if err := want.save(p); err != nil {
		t.Fatal(err)
	}
	got, err := readState(p)
	if err != nil {
		t.Fatal(err)
	}
	if got.Nodes != 3 || got.Ports != want.Ports || got.Processes[etcd] != want.Processes[etcd] {
		t.Errorf("got %+v", got)
	}
	if err := os.WriteFile(p.state(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(string(p)); err == nil || !strings.Contains(err.Error(), p.state()) {
		t.Errorf("a broken state file: %v", err)
	}
}

func TestRebooted(t *testing.T) {
	tests := []struct {
		recorded, now uint64
		want          bool
	}{
		{0, 1000, false},    // nothing was started
		{1000, 0, false},    // unknown
		{1000, 1000, false}, // the same
		{1000, 1005, false}, // the clock was set
		{1000, 9000, true},
	}
	for _, test := range tests {
		if got := (&state{Boot: test.recorded}).rebooted(test.now); got != test.want {
			t.Errorf("recorded %d, now %d: got %v", test.recorded, test.now, got)
		}
	}
}

// A process id that was given to another program since is not the plane's.
func TestProcessIsKnownByItsStart(t *testing.T) {
	ctx := context.Background()
	self := process{PID: os.Getpid(), Started: startOf(ctx, os.Getpid())}
	if !self.alive(ctx) {
		t.Error("this process does not run")
	}
	other := process{PID: os.Getpid(), Started: self.Started - time.Hour.Milliseconds()}
	if other.alive(ctx) {
		t.Error("another process of the same id passes for the recorded one")
	}
	if err := other.stop(ctx); err != nil { // It would end this test, were it sent.
		t.Error(err)
	}
}

func TestPlaneAfterRestartOfTheMachine(t *testing.T) {
	ctx, p := context.Background(), newPaths(t)
	boot := bootTime(ctx)
	if boot == 0 {
		t.Skip("the start of this machine is not known")
	}
	s := &state{Nodes: 1, Boot: boot - 3600, Ports: ports{APIServer: 1},
		Processes: map[string]process{etcd: {PID: os.Getpid(), Started: 1}}}
	if err := s.save(p); err != nil {
		t.Fatal(err)
	}
	plane, err := Open(string(p))
	if err != nil {
		t.Fatal(err)
	}
	if !plane.Restarted(ctx) {
		t.Error("the restart was not noticed")
	}
	if got := plane.Status(ctx)[0]; got.Alive ||
		got.Detail != "not running since the machine restarted" {
		t.Errorf("got %+v", got)
	}
}

func TestMissingProgramsSayWhatToDo(t *testing.T) {
	_, err := Up(context.Background(), Options{Dir: t.TempDir(), Bin: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), `run "make build" first`) {
		t.Errorf("got %v", err)
	}
}

func TestLockIsWaitedFor(t *testing.T) {
	p := newPaths(t)
	unlock, err := lock(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(context.Background(), 3*pollEvery)
	defer cancel()
	if _, err := lock(short, p); err == nil {
		t.Error("locked twice")
	}
	unlock()
	again, err := lock(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestTail(t *testing.T) {
	path := newPaths(t).log("x")
	text := strings.Repeat("early\n", 5000) + "\nlast but one  \nlast"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(tail(path), "\n")
	if len(got) != tailLines || got[tailLines-2] != "last but one" || got[tailLines-1] != "last" {
		t.Errorf("got %q", got)
	}
	if err := os.WriteFile(path, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := tail(path); got != "short" {
		t.Errorf("got %q", got)
	}
	if got := tail(path + ".none"); got != "" {
		t.Errorf("got %q", got)
	}
}
