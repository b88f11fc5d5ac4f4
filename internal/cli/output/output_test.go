package output

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/show/view"
)

// environment returns an environment with variables.
func environment(variables map[string]string) *cli.Env {
	return &cli.Env{
		Out: io.Discard, Err: io.Discard, Getenv: func(name string) string { return variables[name] },
	}
}

// TestReaders parses flags and the environment.
func TestReaders(t *testing.T) {
	tests := map[string]struct {
		kinds     []string
		flags     []string
		variables map[string]string
		want      string // readers, or the beginning of an error
	}{
		"default":   {want: "lines"},
		"old names": {flags: []string{"events"}, want: "lines"},
		"files":     {flags: []string{"json=a=b", "html=c"}, want: "lines json=a=b html=c"},
		"both":      {flags: []string{"junit=a", "table"}, want: "table junit=a"},
		"variable":  {variables: map[string]string{variable: "quiet, json=a"}, want: "quiet json=a"},
		"flag wins": {flags: []string{"json"}, variables: map[string]string{variable: "table"},
			want: "json"},
		"github": {variables: map[string]string{"GITHUB_ACTIONS": "true"}, want: "github"},
		"gitlab": {flags: []string{"json=a"},
			variables: map[string]string{"GITLAB_CI": "true"},
			want:      "gitlab json=a"},
		"no tty": {flags: []string{"live"}, want: "lines"},
		"report": {
			kinds: ReportKinds, variables: map[string]string{variable: "quiet"}, want: "table"},
		"report file": {kinds: ReportKinds, flags: []string{"html=a"}, want: "quiet html=a"},
		"unknown":     {flags: []string{"pdf"}, want: `error: --output "pdf": it must be one of`},
		"in variable": {variables: map[string]string{variable: "x"}, want: `error: MUSTER_OUTPUT "x"`},
		"two":         {flags: []string{"json", "table"}, want: "error: --output json and table"},
		"one file":    {flags: []string{"json=a", "html=./a"}, want: "error: --output json and html"},
		"empty file":  {flags: []string{"json="}, want: "error: --output json=: the file is missing"},
		"quiet file":  {flags: []string{"quiet=a"}, want: "error: --output quiet=a: it is for the"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.kinds == nil {
				test.kinds = RunKinds
			}
			flag := NewFlag(test.kinds)
			for _, text := range test.flags {
				if err := flag.Set(text); err != nil {
					t.Fatal(err)
				}
			}
			readers, err := flag.Readers(environment(test.variables), true)
			var words []string
			for _, r := range readers {
				words = append(words, strings.TrimSuffix(r.Kind+"="+r.Path, "="))
			}
			got := strings.Join(words, " ")
			if err != nil {
				got = "error: " + err.Error()
			}
			if got != test.want && !(err != nil && strings.HasPrefix(got, test.want)) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestFiles checks that a file is replaced as a whole, and that nothing is left of a refused one.
func TestFiles(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a.txt")
	names := func() (names []string) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	readers := []Reader{{Kind: Quiet}, {Kind: JSON, Path: path}}
	env := environment(nil)

	_, err := Open(env, append(readers, Reader{Kind: HTML, Path: filepath.Join(folder, "none", "b")}))
	if err == nil || len(names()) != 0 {
		t.Errorf("the error is %v, and %v is left", err, names())
	}
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	outputs, err := Open(env, readers)
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	print := func(text string, err error) func(Reader, io.Writer) error {
		return func(r Reader, out io.Writer) error {
			if r.Path == "" {
				return nil
			}
			_, _ = io.WriteString(out, text) // a file of the test
			return err
		}
	}
	if err := outputs.Print(print("half", failed)); !errors.Is(err, failed) {
		t.Errorf("the error is %v", err)
	}
	text, _ := os.ReadFile(path)
	if string(text) != "before" || !slices.Equal(names(), []string{"a.txt"}) {
		t.Errorf("the file has %q, and the folder %v", text, names())
	}
	if outputs, err = Open(env, readers); err != nil {
		t.Fatal(err)
	}
	if err := outputs.Print(print("whole", nil)); err != nil {
		t.Fatal(err)
	}
	outputs.Discard() // nothing is left to discard
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(path); string(text) != "whole" || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has %q and the mode %v", text, info.Mode())
	}
}

// TestEnd checks that a file that was not written as a whole is left as it was, that its error is
// no result of the run, and that the other files are written, with two runs.
func TestEnd(t *testing.T) {
	folder := t.TempDir()
	readers := []Reader{{Kind: Quiet}}
	for _, kind := range []string{JSON, JUnit, Markdown} {
		path := filepath.Join(folder, kind)
		if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
			t.Fatal(err)
		}
		readers = append(readers, Reader{Kind: kind, Path: path})
	}
	env := environment(nil)
	env.Now = func() time.Time { return time.Unix(0, 0) }
	outputs, err := Open(env, readers)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || runtime.GOOS != "windows" && len(entries) != 3 {
		t.Errorf("a process that is killed leaves %v", entries)
	}
	outputs.files[2].File.Close() // a write to it fails
	for range 2 {
		printer := outputs.Printer(&plan.Plan{}, view.RunOptions{Now: env.Now, Out: io.Discard}, Forms{
			Form: func(io.Writer) view.RunForm {
				return view.RunForm{Detailed: true, Reason: view.PlainReason}
			},
		})
		if err := printer.Close(nil); err != nil {
			t.Errorf("the run has the error %v of an output", err)
		}
		outputs.Recovery(view.Recovery{Failed: 2, Restores: 1})
	}
	err = outputs.End()
	if err == nil || !strings.HasPrefix(err.Error(), "write the output markdown="+folder) {
		t.Errorf("the error is %v", err)
	}
	for kind, want := range map[string]string{
		Markdown: "before", JUnit: "<testsuite name", JSON: `"type":"recovery"`,
	} {
		text, _ := os.ReadFile(filepath.Join(folder, kind))
		count := strings.Count(string(text), want)
		if count == 0 || kind == JUnit && count != 2 {
			t.Errorf("%s has %q", kind, text)
		}
	}
}
