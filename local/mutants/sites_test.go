package main

import (
	"errors"
	"strings"
	"testing"
)

func TestSitesOf(t *testing.T) {
	source := `package a

func find(all []int, x int) (bool, error) {
	for _, n := range all {
		if n == x && n > 0 {
			return true, nil
		}
	}
	f := func() bool { return len(all) < 3 }
	return f(), errNone
}
`
	sites, err := sitesOf("a.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range sites {
		got = append(got, s.what())
		defective := string(s.apply([]byte(source)))
		if !strings.Contains(defective, s.With) {
			t.Errorf("%s: the file becomes\n%s", s.what(), defective)
		}
	}
	want := []string{
		"n == x && n > 0 became !(n == x && n > 0)",
		"&& became ||",
		"> became >=",
		"true became !(true)",
		"len(all) < 3 became !(len(all) < 3)",
		"< became <=",
		"f() became !(f())",
		"errNone became nil",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

var errTest = errors.New("exit status 1")

func TestFailure(t *testing.T) {
	for text, want := range map[string]string{
		"--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/b (0.1s)\nFAIL\n": "TestA",
		"panic: test timed out after 10m\nFAIL\texample.com/a 3s":      "panic: test timed out",
		"FAIL\texample.com/a [build failed]":                           "example.com/a",
	} {
		if got := failure(text, errTest); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := failure("ok", nil); got != "" {
		t.Errorf("a run without an error has the failure %q", got)
	}
}
