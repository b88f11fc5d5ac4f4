package main

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// source has a place of each form.
const source = `// Package a finds.
package a

func find(all []int, x int) (bool, error) {
	for _, n := range all {
		if n == x && n > 0 {
			return true, nil
		}
	}
	f := func() bool { return len(all) < 3 }
	switch {
	case f():
		return false, errNone
	}
	return f(), errNone
}
`

func TestSitesOf(t *testing.T) {
	sites, err := sitesOf("a.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range sites {
		got = append(got, s.what())
	}
	want := []string{
		"n == x && n > 0 became !(n == x && n > 0)",
		"n == x && n > 0 became n == x || n > 0",
		"n > 0 became n >= 0",
		"true became !(true)",
		"len(all) < 3 became !(len(all) < 3)",
		"len(all) < 3 became len(all) <= 3",
		"f() became !(f())",
		"false became !(false)",
		"errNone became nil",
		"f() became !(f())",
		"errNone became nil",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestRewriter(t *testing.T) {
	sites, err := sitesOf("a.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	got := (&rewriter{text: source, sites: sites}).file(0, len(sites))
	if _, err := parser.ParseFile(token.NewFileSet(), "a.go", got, 0); err != nil {
		t.Error(err)
	}
	want := `// Package a finds.
package a; import defect "github.com/muster-deploy/muster/internal/defect"

func find(all []int, x int) (bool, error) {
	for _, n := range all {
		if (defect.On(0) != ((func() bool { defectLeft := n == x; ` +
		`if defectLeft != defect.On(1) { return ` +
		`(func() bool { if defect.On(2) { return n >= 0 }; return n > 0 }()) }; return defectLeft }()))) {
			return (defect.On(3) != (true)), nil
		}
	}
	f := func() bool { return (defect.On(4) != ` +
		`((func() bool { if defect.On(5) { return len(all) <= 3 }; return len(all) < 3 }()))) }
	switch {
	case (defect.On(6) != (f())):
		return (defect.On(7) != (false)), ` +
		`func() error { if defect.On(8) { return nil }; return errNone }()
	}
	return (defect.On(9) != (f())), func() error { if defect.On(10) { return nil }; return errNone }()
}
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFailures(t *testing.T) {
	for text, want := range map[string]string{
		"--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/b (0.1s)\nFAIL\n": "TestA TestA/b",
		"panic: test timed out after 10m\nFAIL\texample.com/a 3s":      "",
	} {
		if got := strings.Join(failures(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestPattern(t *testing.T) {
	for want, scripts := range map[string][]script{
		"-test.run=^(TestLaws)$": {{test: "TestLaws"}},
		"-test.run=^(TestFront|TestKpt)$/^(scripts|a|b|c)$/^(a|b|c)$": {
			{test: "TestKpt", name: "a"}, {test: "TestFront", name: "b"}, {test: "TestKpt", name: "c"}},
	} {
		if got := pattern(scripts); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
