package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode"

	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestRender renders the recorded run, or the plan, of an archive in every format.
func TestRender(t *testing.T) {
	golden.Run(
		t,
		"testdata/*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			recording := files["run.jsonl"] + files["plan.json"]
			runs, err := Read(strings.NewReader(recording))
			if err != nil {
				t.Fatal(err)
			}
			workspace := "" // the working folder: sources of the plan are relative
			if files["run.jsonl"] != "" {
				workspace = "/repo"
			}
			got := map[string]string{}
			for _, format := range Formats {
				var out bytes.Buffer
				if err := Render(&out, format, runs, workspace); err != nil {
					t.Fatal(err)
				}
				text := strings.ReplaceAll(out.String(), "\x1b", "<ESC>")
				switch text = strings.ReplaceAll(text, "\r", "<CR>"); format {
				case HTML:
					checkPage(t, text)
				case JUnit:
					checkXML(t, text)
					got[string(format)] = text
				default:
					got[string(format)] = text
				}
			}
			quality, err := CodeQuality(runs, "")
			if err != nil {
				t.Fatal(err)
			}
			got["quality"] = string(quality)
			if runs[0].PlanOnly {
				got["comment"] = Comment(runs[0])
			}
			return got
		},
	)
}

// checkXML fails the test unless a text is well-formed.
func checkXML(t *testing.T, text string) {
	t.Helper()
	for decoder := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := decoder.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("the XML is invalid: %v", err)
		}
	}
}

// checkPage fails the test unless a page is whole and loads nothing.
func checkPage(t *testing.T, text string) {
	t.Helper()
	if !strings.HasSuffix(text, "</html>\n") {
		t.Error("the page is not whole")
	}
	for _, banned := range []string{" src=", "@import", "url(", "<link", "http-equiv=\"refresh"} {
		if strings.Contains(text, banned) {
			t.Errorf("the page has %q, with which pages load something", banned)
		}
	}
	for _, opened := range []string{"section", "details", "div", "ul", "li", "svg", "article", "pre",
		"p", "a", "span", "h2"} {
		begins := strings.Count(text, "<"+opened+" ") + strings.Count(text, "<"+opened+">")
		if ends := strings.Count(text, "</"+opened+">"); begins != ends {
			t.Errorf("%d elements %s begin and %d end", begins, opened, ends)
		}
	}
}

// largeRun returns the recording of a run of 3,000 objects with 60 causes, in which nothing is
// harmless: names, messages and logs have what each format reads as its own.
func largeRun() string {
	var b strings.Builder
	line := func(text string, args ...any) { fmt.Fprintf(&b, text+"\n", args...) }
	line(`{"type":"version","ui":"1.4","muster":"v1","timestamp":"2026-01-02T03:04:05Z","elapsed":0}`)
	line(`{"type":"run","command":"apply","set":"app \"a--><b>\"","namespace":"n",` +
		`"folder":"x","elapsed":0}`)
	for i := range 3000 {
		line(`{"type":"planned","group":"apps","kind":"Deployment","namespace":"n","name":"d%d",`+
			`"operation":"update","source":"web,%d.yaml:%d","changes":[{"path":".spec.replicas|%d",`+
			`"kind":"changed","old":"%s","new":"%s"}],"needs":[{"group":"apps",`+
			`"kind":"Deployment","namespace":"n","name":"d%d"}]}`,
			i, i, i+1, i, strings.Repeat("o", 600), strings.Repeat("`n", 300), i/50)
	}
	for i := range 3000 {
		line(`{"type":"apply","group":"apps","kind":"Deployment","namespace":"n","name":"d%d",`+
			`"operation":"update","status":"Successful","elapsed":%d.5}`, i, i/100)
	}
	for i := range 60 * 5 {
		line(`{"type":"wait","group":"apps","kind":"Deployment","namespace":"n","name":"d%d",`+
			`"status":"Timeout","elapsed":40,"message":`+
			`"]]> \u0000\u001b[31m & <script>alert(1)</script>"}`, i)
	}
	line(`{"type":"a-type-of-the-future","anything":[1]}`)
	for i := range 60 * 5 {
		line(`{"type":"problem","group":"apps","kind":"Deployment","namespace":"n","name":"d%d",`+
			`"problem":"is not ready","source":"web,%d.yaml:%d","next":"kubectl logs","causes":[{"object":`+
			`{"group":"","kind":"Pod","namespace":"n","name":"p%d"},"count":1,"stuck":%t,"message":`+
			`"cause %d: 50%% <script>alert(2)</script>\u0007 | `+"```"+` @all",`+
			`"log":["::error::x","##[error]y",`+
			`"\u001b[2J]]>%s"]}]}`, i, i, i+1, i, i%60 == 41, i%60, strings.Repeat("l", 3000))
	}
	line(`{"type":"result","outcome":"failed","elapsed":41}`)
	return b.String()
}

func readLarge(t *testing.T) []*Run {
	t.Helper()
	runs, err := Read(strings.NewReader(largeRun()))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(runs[0].Objects); n != 3000 {
		t.Fatalf("the run has %d objects", n)
	}
	if n := len(runs[0].Details()); n != 60 {
		t.Fatalf("the run has %d causes", n)
	}
	return runs
}

// controls fails the test if a text has control characters other than new lines.
func controls(t *testing.T, text string) {
	t.Helper()
	for i, r := range text {
		if unicode.IsControl(r) && r != '\n' {
			t.Fatalf("it has the control character %U: %q", r, text[max(i-40, 0):i])
		}
	}
}

// TestLimits checks the documented limits of each format with many objects and causes.
func TestLimits(t *testing.T) {
	runs := readLarge(t)
	t.Run("summary", func(t *testing.T) {
		text := Summary(runs, SummaryLimit)
		controls(t, text)
		if n := len(text); n > SummaryLimit || n < SummaryLimit/2 {
			t.Errorf("the summary has %d bytes, of at most %d", n, SummaryLimit)
		}
		for _, want := range []string{"failed after 41s", "cause 41", "cause 59", "more differences"} {
			if !strings.Contains(text, want) {
				t.Errorf("the summary lacks %q", want)
			}
		}
		if strings.Contains(text, "<script>alert(1)") && !strings.Contains(text, "`]]>") {
			t.Error("the summary has HTML of a message")
		}
	})
	t.Run("comment", func(t *testing.T) {
		text := Comment(runs[0])
		controls(t, text)
		marker := `<!-- muster-plan: app "ab" n -->` + "\n"
		if n := len(text); n > CommentLimit || !strings.HasPrefix(text, marker) {
			t.Errorf("the comment has %d bytes, of at most %d, and begins with %.60q", n, CommentLimit, text)
		}
	})
	t.Run("annotations", func(t *testing.T) {
		text := Annotations(runs, "")
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) != maxAnnotations {
			t.Fatalf("there are %d annotations", len(lines))
		}
		controls(t, text)
		for i, line := range lines {
			if !strings.HasPrefix(line, "::error ") {
				t.Errorf("the line is no annotation: %q", line)
			}
			if i < 9 && !strings.Contains(line, "file=x/web%2C") {
				t.Errorf("the annotation names no file: %q", line)
			}
		}
		if !strings.Contains(lines[0], "cause 41: 50%25 ") {
			t.Errorf("the worst cause is not the first: %q", lines[0])
		}
		if !strings.Contains(lines[9], "::and 51 more") {
			t.Errorf("the last annotation does not count the others: %q", lines[9])
		}
	})
	t.Run("junit", func(t *testing.T) {
		var out bytes.Buffer
		if err := Render(&out, JUnit, runs, ""); err != nil {
			t.Fatal(err)
		}
		controls(t, out.String())
		var suites struct {
			Suites []struct {
				Tests    int `xml:"tests,attr"`
				Failures int `xml:"failures,attr"`
				Cases    []struct {
					Failure *struct{} `xml:"failure"`
				} `xml:"testcase"`
			} `xml:"testsuite"`
		}
		if err := xml.Unmarshal(out.Bytes(), &suites); err != nil {
			t.Fatal(err)
		}
		s, failures := suites.Suites[0], 0
		for _, c := range s.Cases {
			if c.Failure != nil {
				failures++
			}
		}
		if s.Tests != 3000 || len(s.Cases) != 3000 || s.Failures != 300 || failures != 300 {
			t.Errorf("%d tests, %d cases, %d failures and %d cases that fail", s.Tests, len(s.Cases),
				s.Failures, failures)
		}
		if out.Len() > 30<<20 {
			t.Errorf("the file has %d bytes, and GitLab takes 30 MB", out.Len())
		}
	})
	t.Run("gitlab", func(t *testing.T) {
		text := gitLabLog(runs)
		begins, ends := strings.Count(text, "section_start:"), strings.Count(text, "section_end:")
		if begins != 1 || ends != 1 {
			t.Errorf("%d sections begin and %d end", begins, ends)
		}
		quality, err := CodeQuality(runs, "")
		if err != nil {
			t.Fatal(err)
		}
		var issues []struct{ Fingerprint, Severity string }
		if err := json.Unmarshal(quality, &issues); err != nil {
			t.Fatal(err)
		}
		known := map[string]bool{}
		for _, issue := range issues {
			known[issue.Fingerprint] = true
		}
		if len(known) != 60 || issues[0].Severity != "critical" {
			t.Errorf("%d causes, the first is %s", len(known), issues[0].Severity)
		}
	})
	t.Run("github log", func(t *testing.T) {
		for line := range strings.Lines(gitHubLog(runs)) {
			text := strings.TrimLeft(line, " \t")
			command := strings.HasPrefix(text, "::") && text != "::group::apply\n" &&
				text != "::endgroup::\n"
			if command || strings.Contains(text, "##[") {
				t.Errorf("the log has a command: %q", line)
			}
		}
	})
	t.Run("html", func(t *testing.T) {
		text := page(runs)
		checkPage(t, text)
		controls(t, text)
		if strings.Contains(text, "<script>alert") {
			t.Error("the page has a script of a message")
		}
		if n := len(text); n > 16<<20 {
			t.Errorf("the page has %d bytes", n)
		}
	})
}

// TestRefused reads what is no recording.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "it has no run",
		"hello":                            "line 1: it is not JSON of a run",
		`{"a":1}`:                          "line 1: it has no type",
		`{"type":"version","ui":"2.0"}`:    `line 1: its version "2.0" is unknown`,
		"{\n}":                             "it has no objects",
		"{\n\"objects\": 7}":               "it is not the JSON of a plan",
		`{"type":"apply"}` + "\n" + "{bad": "line 2: it is not JSON of a run",
	} {
		_, err := Read(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, not %q", text, err, want)
		}
	}
}

// TestEnds reads a run that was killed: it has an outcome, and every format has its report.
func TestEnds(t *testing.T) {
	runs, err := Read(strings.NewReader(`{"type":"version","ui":"1.0","muster":"v1"}
{"type":"planned","kind":"ConfigMap","name":"a","operation":"create"}
`))
	if err != nil {
		t.Fatal(err)
	}
	if got := runs[0].Headline(); got != "run did not end in the recording: 1 pending" {
		t.Errorf("the headline is %q", got)
	}
	for _, format := range Formats {
		if err := Render(io.Discard, format, runs, ""); err != nil {
			t.Error(err)
		}
	}
}

// FuzzRead looks for recordings that panic, or that become invalid XML.
func FuzzRead(f *testing.F) {
	f.Add(`{"type":"version","ui":"1.0"}`)
	f.Add(`{"type":"apply","kind":"A","name":"\u0000]]>","status":"Failed","error":"\ud800"}`)
	f.Add(`{"type":"problem","kind":"A","causes":[{"count":2}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		runs, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		checkXML(t, junit(runs, ""))
		if len(Summary(runs, CommentLimit)) > CommentLimit {
			t.Error("the summary is too long")
		}
		page(runs)
		Annotations(runs, "")
	})
}

// TestPlaceOfBuilt checks that findings about objects of a base are beside the file of the base.
func TestPlaceOfBuilt(t *testing.T) {
	r := &Run{Folder: "shop/live"}
	for source, want := range map[string]string{
		"../base/web.yaml (built by kustomization.yaml)": "shop/base/web.yaml:1",
		"kustomization.yaml (built):7":                   "shop/live/kustomization.yaml:1",
		"kustomization.yaml (built)":                     "shop/live/kustomization.yaml:1",
		"web.yaml:7":                                     "shop/live/web.yaml:7",
	} {
		file, line := r.place(source, "")
		if got := fmt.Sprintf("%s:%d", file, line); got != want {
			t.Errorf("the place of %s is %s, want %s", source, got, want)
		}
	}
}
