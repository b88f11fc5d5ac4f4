package ui

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestRecorded makes the calls of an archive and compares with what kapp printed in a recorded
// session. An archive has the mode, the calls, the texts and tables that they name, and at last the
// two streams and the exit code.
func TestRecorded(t *testing.T) {
	paths, err := filepath.Glob("testdata/recorded/*.txtar")
	if err != nil || len(paths) < 30 {
		t.Fatalf("found %d archives: %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files := map[string]string{}
			for _, file := range archive.Files {
				files[file.Name] = string(file.Data)
			}
			var out, errs strings.Builder
			options := Options{Out: &out, Err: &errs, Name: "kapp"}
			options.Mode = map[string]Mode{"decorated\n": Decorated, "plain\n": Plain,
				"json\n": JSON}[files["mode"]]
			code := perform(t, New(options), files)
			got := map[string]string{
				"stdout": ended(out.String()),
				"stderr": errs.String(),
				"exit":   strconv.Itoa(code) + "\n",
			}
			for name, text := range got {
				if diff := cmp.Diff(files[name], text); diff != "" {
					t.Errorf("%s (-recorded +got):\n%s", name, diff)
				}
			}
		})
	}
}

// ended returns a text with the newline that ends a section of an archive.
func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

var bannerLine = regexp.MustCompile(`^Target cluster '(.*)' \(nodes: (.*)\)$`)

// perform makes the calls, one per line, and returns the exit code.
func perform(t *testing.T, u *UI, files map[string]string) int {
	t.Helper()
	for line := range strings.Lines(files["calls"]) {
		call, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		text := files[rest]
		switch call {
		case "banner":
			match := bannerLine.FindStringSubmatch(rest)
			u.Banner(match[1], match[2], 0)
			u.Banner("another", "", 0)
		case "line":
			u.Line(rest)
		case "part":
			u.Part(rest + "\n")
		case "parts":
			for part := range strings.Lines(text) {
				u.Part(part)
			}
		case "block":
			u.Block(text)
		case "bare":
			u.Block(strings.TrimSuffix(text, "\n"))
		case "table":
			if err := u.Table(parseTable(t, text)); err != nil {
				t.Fatal(err)
			}
		case "done":
			return u.Close(nil)
		case "fail":
			return u.Close(failure(strings.TrimSuffix(text, "\n")))
		default:
			t.Fatalf("call %q", call)
		}
	}
	t.Fatal("calls without an end")
	return 0
}

// failure makes an error of a text; those with an exit status end with it.
func failure(text string) error {
	for _, err := range []error{DiffExit(true), DiffExit(false), ApplyExit(true), ApplyExit(false)} {
		if err.Error() == text {
			return err
		}
	}
	return errors.New(text)
}

// parseTable reads a title, what the rows are, flags, columns as KEY=TITLE with "!" after hidden
// ones, rows, and notes after "# ". Cells are parted by tabs.
func parseTable(t *testing.T, text string) Table {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	table := Table{Title: lines[0], Content: lines[1]}
	flag, rest, _ := strings.Cut(lines[2], " ")
	table.FillFirst, table.Transpose = flag == "fill" || flag == "transpose", flag == "transpose"
	for field := range strings.FieldsSeq(rest) {
		column, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		table.SortBy = append(table.SortBy, SortBy(column)...)
	}
	for field := range strings.SplitSeq(lines[3], "\t") {
		key, title, _ := strings.Cut(field, "=")
		title, hidden := strings.CutSuffix(title, "!")
		table.Header = append(table.Header, Column{Key: key, Title: title, Hidden: hidden})
	}
	for _, line := range lines[4:] {
		if note, ok := strings.CutPrefix(line, "# "); ok {
			table.Notes = append(table.Notes, note)
			continue
		}
		table.Rows = append(
			table.Rows,
			Cells(strings.Split(strings.ReplaceAll(line, `\n`, "\n"), "\t")...),
		)
	}
	return table
}

// TestConfirm puts the question to pipes.
func TestConfirm(t *testing.T) {
	for _, test := range []struct {
		name, input, out, err string
		options               Options
	}{
		{name: "yes", input: "y\n", out: "Continue? [yN]: y\n\ndone\n"},
		{name: "whole word, with a carriage return", input: "yes\r\n",
			out: "Continue? [yN]: yes\n\ndone\n"},
		{name: "no", input: "n\n", out: "Continue? [yN]: n\n\n", err: "kapp: Error: Stopped\n"},
		{name: "empty line", input: "\n", out: "Continue? [yN]: \n\n", err: "kapp: Error: Stopped\n"},
		{name: "no input", out: "Continue? [yN]: \n",
			err: "kapp: Error: Asking for confirmation:\n  EOF\n"},
		{name: "no line", input: "y", out: "Continue? [yN]: \n",
			err: "kapp: Error: Asking for confirmation:\n  EOF\n"},
		{name: "second try", input: "what\nY\n",
			out: "Continue? [yN]: what\ninvalid input (not y, n, yes, or no)\nContinue? [yN]: Y\n\ndone\n"},
		{name: "yes beforehand", options: Options{Yes: true}, out: "done\n"},
		{name: "plain", options: Options{Mode: Plain}, input: "y\n", out: "Continue? [yN]: y\n"},
		{name: "document", options: Options{Mode: JSON},
			out: "{\n    \"Tables\": null,\n    \"Blocks\": null,\n    \"Lines\": [\n" +
				"        \"kapp: Error: Cannot ask for confirmation with --json (hint: add --yes)\"\n    ]\n}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, errs strings.Builder
			test.options.Out, test.options.Err, test.options.Name = &out, &errs, "kapp"
			u := New(test.options)
			err := u.Confirm(t.Context(), strings.NewReader(test.input))
			if err == nil {
				u.Line("done")
				u.Quiet()
			}
			code := u.Close(err)
			if out.String() != test.out || errs.String() != test.err {
				t.Errorf("printed %q and %q", out.String(), errs.String())
			}
			if (code != 0) != (err != nil) {
				t.Errorf("exit code %d with error %v", code, err)
			}
		})
	}
}

// TestConfirmEnds gives up on those who never answer, and when the context ends.
func TestConfirmEnds(t *testing.T) {
	u := New(Options{Out: io.Discard, Err: io.Discard})
	err := u.Confirm(t.Context(), strings.NewReader(strings.Repeat("maybe\n", 100)))
	if err == nil || err.Error() != "Asking for confirmation: no answer in 10 tries" {
		t.Errorf("error %v", err)
	}
	silent, writer := io.Pipe()
	defer writer.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	if err := u.Confirm(ctx, silent); err == nil ||
		err.Error() != "Asking for confirmation: interrupted" {
		t.Errorf("error %v", err)
	}
}
