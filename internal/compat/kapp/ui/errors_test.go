package ui

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestLayout lays out the texts of archives, before which Bullets made lists in what stands after
// "API server says: ".
func TestLayout(t *testing.T) {
	golden.Run(
		t,
		"testdata/errors/*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			text := strings.TrimSuffix(files["text"], "\n")
			if at := strings.Index(text, "API server says: "); at >= 0 {
				at += len("API server says: ")
				text = text[:at] + Bullets(text[at:])
			}
			return map[string]string{"text": BreakLines(text)}
		},
	)
}

func TestList(t *testing.T) {
	for _, test := range []struct{ texts, want string }{
		{"one: Two", "one: Two"},
		{"waiting on a|create b", "\n\n  - waiting on a\n\n  - create b\n\n"},
		{"waiting on a (one, two)|waiting on b", "\n\n  - waiting on a (one, two)\n\n  - waiting on " +
			"b\n\n"},
		{"unmatched (|other", "\n\n  - unmatched (\n\n  - other\n\n"},
	} {
		if got := List(strings.Split(test.texts, "|")); got != test.want {
			t.Errorf("%s: %q, want %q", test.texts, got, test.want)
		}
	}
	timedOut := "Timed out waiting after 8s for resources: [job/a (batch/v1) namespace: demo, " +
		"job/b (batch/v1) namespace: demo]"
	want := "Timed out waiting after 8s for resources: \n\n  - job/a (batch/v1) namespace: " +
		"demo\n\n  - job/b (batch/v1) namespace: demo\n\n"
	if got := BreakLines(Bullets(timedOut)); got != want {
		t.Errorf("%q", got)
	}
}

func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{errors.New("x"), 1, "x"},
		{DiffExit(false), 2, "Exiting after diffing with no pending changes (exit status 2)"},
		{DiffExit(true), 3, "Exiting after diffing with pending changes (exit status 3)"},
		{ApplyExit(false), 2, "Exiting after applying with no changes (exit status 2)"},
		{fmt.Errorf("app: %w", ApplyExit(true)), 3,
			"app: Exiting after applying with changes (exit status 3)"},
	} {
		var out, errs strings.Builder
		u := New(Options{Out: &out, Err: &errs, Name: "prog", Mode: Plain})
		if code := u.Close(test.err); code != test.code {
			t.Errorf("%v: exit code %d, want %d", test.err, code, test.code)
		}
		want := ""
		if test.err != nil {
			want = "prog: Error: " + BreakLines(test.text) + "\n"
		}
		if out.String() != "" || errs.String() != want {
			t.Errorf("%v: printed %q and %q", test.err, out.String(), errs.String())
		}
	}
}

// FuzzLayout finds that texts keep all but their blanks and line ends, whatever their brackets.
func FuzzLayout(f *testing.F) {
	for _, seed := range []string{"a: B: [c: D, efg: H] (x)", "a [b", "a ] b", "...|{|... b: C",
		"(: A)\n: B", "[, abc, ]", "[(]", "…: É: A"} {
		f.Add(seed)
	}
	bare := strings.NewReplacer(" ", "", "\n", "", ",", "", "-", "", "[", "", "]", "")
	f.Fuzz(func(t *testing.T, text string) {
		for _, got := range []string{BreakLines(text), Bullets(text)} {
			if bare.Replace(got) != bare.Replace(text) {
				t.Errorf("%q became %q", text, got)
			}
		}
	})
}
