package ui

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestProgress feeds the events of runs of kapp and compares with the recorded lines. An archive
// has the items, a line each: WORD WAITWORD [NEED,…] DESCRIPTION; the events, a line each: TIME
// KIND ITEM [STATE[: MESSAGE]], followed by lines for children that begin with +; and the lines.
// The event "again" repeats the last one of the item.
func TestProgress(t *testing.T) {
	paths, err := filepath.Glob("testdata/progress/*.txtar")
	if err != nil || len(paths) < 10 {
		t.Fatalf("found %d archives: %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil || len(archive.Files) != 3 {
				t.Fatalf("archive with %d files: %v", len(archive.Files), err)
			}
			got := play(t, string(archive.Files[0].Data), string(archive.Files[1].Data))
			if diff := cmp.Diff(string(archive.Files[2].Data), got); diff != "" {
				t.Errorf("-recorded +got:\n%s", diff)
			}
		})
	}
}

// TestTurns plays runs that no session recorded.
func TestTurns(t *testing.T) {
	golden.Run(
		t,
		"testdata/turns/*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			return map[string]string{"lines": play(t, files["items"], files["events"])}
		},
	)
}

// play gives what a run prints.
func play(t *testing.T, items, events string) string {
	t.Helper()
	var out strings.Builder
	var now time.Time
	u := New(Options{Out: &out, Err: &out, Now: func() time.Time { return now }})
	var p *Progress
	last := map[int]Event{}
	lines := bufio.NewScanner(strings.NewReader(events))
	var pending *Event
	flush := func() {
		if pending != nil {
			last[pending.Step] = *pending
			p.Take(*pending)
			pending = nil
		}
	}
	for lines.Scan() {
		line := lines.Text()
		if rest, ok := strings.CutPrefix(line, "+ "); ok {
			pending.Children = append(pending.Children, child(rest))
			continue
		}
		flush()
		clock, rest, _ := strings.Cut(line, " ")
		at, err := time.ParseInLocation("3:04:05PM", clock, time.Local)
		if err != nil {
			at, err = time.ParseInLocation("3:04:05.000PM", clock, time.Local)
		}
		if err != nil {
			t.Fatal(err)
		}
		now = at.AddDate(2026, 0, 0)
		kind, rest, _ := strings.Cut(rest, " ")
		switch kind {
		case "begin":
			p = NewProgress(u, parseItems(t, items))
		case "tick":
			p.Tick()
		case "end":
			p.End(rest == "complete")
		default:
			e := parseEvent(t, kind, rest)
			if kind == "again" {
				e = last[e.Step]
			}
			pending = &e
		}
	}
	flush()
	u.Quiet()
	u.Close(nil)
	return out.String()
}

func parseItems(t *testing.T, text string) []Item {
	t.Helper()
	var items []Item
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "join" || strings.HasPrefix(line, "join ") {
			needs, _ := strings.CutPrefix(line, "join ")
			items = append(items, Item{Needs: numbers(t, needs)})
			continue
		}
		fields := strings.SplitN(line, " ", 4)
		items = append(items, Item{Word: fields[0], WaitWord: fields[1], Description: fields[3],
			Needs: numbers(t, strings.Trim(fields[2], "[]"))})
	}
	return items
}

func numbers(t *testing.T, text string) []int {
	t.Helper()
	var out []int
	for field := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}

var kinds = map[string]Kind{
	"written":  Written,
	"refused":  Refused,
	"retried":  Retried,
	"givenup":  GivenUp,
	"seen":     Seen,
	"released": Seen,
	"settled":  Settled,
	"left":     Dropped,
	"again":    Seen,
	"ends":     Refused,
	"fails":    Settled,
}

func parseEvent(t *testing.T, kind, rest string) Event {
	t.Helper()
	k, ok := kinds[kind]
	step, rest, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(step)
	if err != nil || !ok {
		t.Fatalf("%s %s: %v", kind, step, err)
	}
	state, message, _ := strings.Cut(rest, ": ")
	e := Event{
		Kind:     k,
		Step:     n,
		State:    state,
		Message:  message,
		Released: kind == "released",
		Last:     kind == "ends" || kind == "fails",
	}
	if k == Refused || k == Retried || k == GivenUp {
		e.Err = errors.New(rest)
	}
	return e
}

// child reads "STATE: DESCRIPTION[ ^ MESSAGE]".
func child(text string) Child {
	state, text, _ := strings.Cut(text, ": ")
	description, message, _ := strings.Cut(text, " ^ ")
	return Child{state, description, message}
}

// TestProgressLarge runs a wide graph of which one member of the first round is slow, and a long
// chain.
func TestProgressLarge(t *testing.T) {
	var out strings.Builder
	u := New(Options{Out: &out, Err: &out})
	const n = 20000
	var items []Item
	for i := range n {
		it := Item{
			Word:        "create",
			WaitWord:    "reconcile",
			Description: fmt.Sprintf("configmap/c%d (v1) namespace: demo", i),
		}
		if i >= n/2 {
			it.Needs = []int{i - n/2}
		}
		items = append(items, it)
	}
	p := NewProgress(u, items)
	for i := 1; i < n/2; i++ {
		p.Take(Event{Kind: Written, Step: i})
		p.Take(Event{Kind: Settled, Step: i, State: "ok"})
		p.Take(Event{Kind: Written, Step: i + n/2})
		p.Take(Event{Kind: Settled, Step: i + n/2, State: "ok"})
	}
	for _, i := range []int{0, n / 2} {
		p.Take(Event{Kind: Written, Step: i})
		p.Take(Event{Kind: Settled, Step: i, State: "ok"})
	}
	p.End(true)
	u.Quiet()
	u.Close(nil)
	text := out.String()
	if got := strings.Count(text, "create "); got != n {
		t.Errorf("%d of %d writes were printed", got, n)
	}
	if got := strings.Count(text, "ok: reconcile "); got != n {
		t.Errorf("%d of %d ends were printed", got, n)
	}
	if got := strings.Count(text, "----"); got > 30 {
		t.Errorf("%d headers", got/2)
	}
	if !strings.HasSuffix(text, "---- waiting complete [20000/20000 done] ----\n") {
		t.Error("not complete")
	}
}

// TestMain makes the local time the one of the recorded runs.
func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}
