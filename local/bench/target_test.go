package main

import (
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	few, many := took("muster", ours, created, 1000, 1), took("muster", ours, created, 20000, 40)
	floor := took("floor", base, created, 1000, 1)
	few.Traffic = &Traffic{Verbs: map[string]int{"POST": 1000, "GET": 10}}
	many.Samples[0].Peak = 351
	slow := took("muster", ours, deleted, 20000, 10)
	before := took("muster", ours, deleted, 1000, 1)
	failed := took("muster-app", ours, created, 1000, 1)
	failed.Failed = "exit status 1"
	quiet, busy := took("muster", ours, created, 20, 1), took("muster", ours, created, 20, 1.25)
	for where, r := range map[string]*Result{inEmpty: quiet, inCrowded: busy} {
		r.Scenario, r.Where = "crowded", where
	}
	busy.Samples[0].Peak = 111
	drawn, unseen := took("muster", ours, created, 200, 40), took("muster", ours, created, 200, 41)
	for where, r := range map[string]*Result{shownLive: drawn, shownNot: unseen} {
		r.Scenario, r.Where = "view", where
	}
	drawn.Samples[0].CPU, unseen.Samples[0].CPU = 3.5, 1
	all := []*Result{drawn, unseen, floor, few, many, slow, before, failed, quiet, busy}
	compare(all, nil, absent(nil))
	got := map[string]Verdict{}
	for _, v := range judge(all) {
		got[strings.TrimSuffix(v.Target+" "+v.Tool, " ")] = v
	}
	for name, want := range map[string]Verdict{
		"create, × floor muster-app": {Objects: 1000, Step: created,
			Verdict: failing},
		"create, × best peer muster": {Objects: 20000, Step: created,
			Verdict: unjudged},
		"time per object, × that at 1,000 muster": {Objects: 20000, Step: created, Figure: 2,
			Verdict: missed},
		"peak at 5,001": {Verdict: unjudged},
		"peak at 20,000 muster": {Objects: 20000, Step: created, Figure: 351,
			Verdict: missed},
		"time in a crowded cluster, × empty muster": {Objects: 20, Step: created, Figure: 1.25,
			Verdict: met},
		"CPU of the live view, of a core muster": {Objects: 200, Step: created, Figure: 6.25,
			Verdict: missed},
		"peak in a crowded cluster, more than empty muster": {Objects: 20, Step: created, Figure: 11,
			Verdict: missed},
	} {
		v, ok := got[name]
		v.Target, v.Tool, v.Limit, v.Unit = "", "", 0, ""
		if !ok || v != want {
			t.Errorf("%s: got %+v, want %+v", name, v, want)
		}
	}
	requests, known := requestsEach(all, few)
	if !known || requests != 1.01 {
		t.Errorf("requests of each: %v, %v", requests, known)
	}
	if used, known := serverToFloor(all, few); !known || used != 1 {
		t.Errorf("API server: %v, %v", used, known)
	}
}

func TestVerdictsArePrinted(t *testing.T) {
	var out strings.Builder
	printVerdicts(&out, []Verdict{
		{"peak at 5,001", "muster", 5001, created, 148.3, 120, " MB", missed},
		{"version", "", 0, "", 0, 20, " ms", unjudged},
	})
	want := `
targets

| target        | limit  | tool   | objects | step   | figure | verdict      |
| ---           | ---    | ---    | ---     | ---    | ---    | ---          |
| peak at 5,001 | 120 MB | muster | 5001    | create | 148 MB | missed       |
| version       | 20 ms  |        |         |        |        | not measured |
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
