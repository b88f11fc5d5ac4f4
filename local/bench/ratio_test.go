package main

import (
	"slices"
	"testing"
)

// took makes a result of one sample.
func took(tool string, role role, step string, objects int, wall float64) *Result {
	return &Result{
		Scenario: "mixed",
		Tool:     tool,
		Step:     step,
		Objects:  objects,
		role:     role,
		Samples:  []Sample{{Wall: wall, Server: wall / 2, Peak: 100}},
	}
}

func TestCompare(t *testing.T) {
	known := []Recorded{
		{"mixed", "kapp", created, 3},
		{"mixed", "kapp", unchanged, 0.5},
		{"mixed", "kpt", unchanged, 0.1},
		{"other", "flux", created, 0.1},
	}
	results := []*Result{
		took("floor", base, created, 200, 2),
		took("floor", base, deleted, 200, 1),
		took("floor", base, created, 500, 100),
		took("muster", ours, created, 200, 3),
		took("muster", ours, unchanged, 200, 0.5),
		took("muster", ours, changed, 200, 0.5),
		took("muster", ours, deleted, 200, 1),
		took("kpt", peer, created, 200, 10),
		took("kpt", peer, unchanged, 200, 4),
		took("helm", peer, unchanged, 200, 0.1),
	}
	results[9].Failed = "exit status 1"
	compare(
		results,
		known,
		absent([]tool{{name: "floor"}, {name: "muster"}, {name: "kpt"}, {name: "helm"}}),
	)
	for _, tc := range []struct {
		result int
		want   Ratios
	}{
		{3, Ratios{1.5, 0.5, "kapp, recorded"}},  // 3 × 2 s
		{4, Ratios{0.25, 0.5, "kapp, recorded"}}, // 0.5 × 2 s; kpt was measured, so its record is ignored
		{5, Ratios{0.25, 0, ""}},
		{6, Ratios{1, 0, ""}},
	} {
		r := results[tc.result]
		if r.Ratios == nil || *r.Ratios != tc.want {
			t.Errorf("%s of %s: got %+v, want %+v", r.Step, r.Tool, r.Ratios, tc.want)
		}
	}
	if results[0].Ratios != nil || results[9].Ratios != nil {
		t.Errorf(
			"the floor and what has failed have ratios: %v, %v",
			results[0].Ratios,
			results[9].Ratios,
		)
	}
}

func TestRecordedStepsExist(t *testing.T) {
	if len(recorded) == 0 {
		t.Fatal("nothing is recorded")
	}
	for _, r := range recorded {
		if !slices.ContainsFunc(steps, func(s step) bool { return s.name == r.Step }) || r.Floor <= 0 {
			t.Errorf("%+v", r)
		}
		if _, err := scenariosNamed([]string{r.Scenario}); err != nil {
			t.Error(err)
		}
	}
}
