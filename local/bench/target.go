package main

import (
	"fmt"
	"io"
	"slices"
)

// target is a limit for a figure of muster.
type target struct {
	name     string
	scenario string
	where    string // the cluster that is meant, where a scenario has several
	steps    []string
	objects  int // the number for which it holds; 0 is any
	figure   func(all []*Result, r *Result) (value float64, known bool)
	limit    float64
	unit     string
}

var (
	all4    = []string{created, unchanged, changed, deleted}
	applied = all4[:3]
	targets = []target{
		{"create, × floor", "mixed", "", []string{created}, 0, toFloor, 1.5, ""},
		{"create, × best peer", "mixed", "", []string{created}, 0, toPeer, 0.4, ""},
		{"unchanged, × best peer", "mixed", "", []string{unchanged}, 0, toPeer, 0.25, ""},
		{"1% changed, × best peer", "mixed", "", []string{changed}, 0, toPeer, 0.25, ""},
		{"delete, × best peer", "mixed", "", []string{deleted}, 0, toPeer, 0.3, ""},
		{"time per object, × that at 1,000", "mixed", "", all4, 20000, growth, 1.3, ""},
		{"peak at 5,001", "mixed", "", all4, 5001, peakMemory, 120, " MB"},
		{"peak at 20,000", "mixed", "", all4, 20000, peakMemory, 350, " MB"},
		{"requests of create, per object", "mixed", "", []string{created}, 0, requestsEach, 1.05, ""},
		{"requests of unchanged", "mixed", "", []string{unchanged}, 0, requestsInAll, 20, ""},
		{"API server CPU of create, × floor", "mixed", "", []string{created}, 0, serverToFloor, 1.2, ""},
		{"API server CPU of delete, × floor", "mixed", "", []string{deleted}, 0, serverToFloor, 1.2, ""},
		{"time in a crowded cluster, × empty", "crowded", inCrowded, applied, 0, crowdedTime, 1.3, ""},
		{
			"peak in a crowded cluster, more than empty",
			"crowded",
			inCrowded,
			applied,
			0,
			crowdedMemory,
			10,
			" MB",
		},
		{"version", "start", "", []string{version}, 0, milliseconds, 20, " ms"},
		{"status of 6 objects", "start", "", []string{status}, 6, milliseconds, 150, " ms"},
		{"CPU of the live view, of a core", "view", shownLive, []string{created}, 0, viewShare, 5, " %"},
		{"program", "start", "", []string{program}, 0, programSize, 60, " MB"},
		{"controller, peak with 10,000", "sets", "", setSteps, 10000, peakMemory, 300, " MB"},
		{"controller, requests of a minute", "sets", "", []string{setsIdle}, 0, requestsOfIdle, 0, ""},
		{"change of a source, slowest", "sets", "", []string{sourceChanged}, 0, slowest, 1000, " ms"},
		{"drift put back, slowest", "sets", "", []string{driftUndone}, 0, slowest, 2000, " ms"},
		{"drift reported, slowest", "sets", "", []string{driftReported}, 0, slowest, 2000, " ms"},
		{"good after bad, slowest", "sets", "", []string{goodAfterBad}, 0, slowest, 1000, " ms"},
		{"beside a stuck Set, slowest", "sets", "", []string{besideStuck}, 0, slowest, 1000, " ms"},
		{"beside a stuck Set, × without", "sets", "", []string{besideStuck}, 0, besideTime, 1.3, ""},
	}
)

// Verdict is the result of a target, for one tool and number of objects. Of several steps the
// worst counts.
type Verdict struct {
	Target  string  `json:"target"`
	Tool    string  `json:"tool,omitempty"`
	Objects int     `json:"objects,omitempty"`
	Step    string  `json:"step,omitempty"`
	Figure  float64 `json:"figure"`
	Limit   float64 `json:"limit"`
	Unit    string  `json:"unit,omitempty"`
	Verdict string  `json:"verdict"`
}

// The results of a target.
const (
	met      = "met"
	missed   = "missed"
	failing  = "missed: the tool has failed"
	unjudged = "not measured"
)

// judge compares the results with the targets. A target without results has one verdict, without a
// tool.
func judge(results []*Result) []Verdict {
	var verdicts []Verdict
	for _, t := range targets {
		var judged []Verdict
		for _, r := range results {
			if r.role != ours || r.Scenario != t.scenario || r.Where != t.where ||
				!slices.Contains(t.steps, r.Step) ||
				t.objects != 0 && t.objects != r.Objects {
				continue
			}
			judged = worse(judged, t.verdict(results, r))
		}
		if len(judged) == 0 {
			judged = []Verdict{{Target: t.name, Limit: t.limit, Unit: t.unit, Verdict: unjudged}}
		}
		verdicts = append(verdicts, judged...)
	}
	return verdicts
}

func (t target) verdict(results []*Result, r *Result) Verdict {
	v := Verdict{
		Target:  t.name,
		Tool:    r.Tool,
		Objects: r.Objects,
		Step:    r.Step,
		Limit:   t.limit,
		Unit:    t.unit,
		Verdict: unjudged,
	}
	if r.Failed != "" {
		v.Verdict = failing
		return v
	}
	figure, known := t.figure(results, r)
	if known {
		v.Figure, v.Verdict = figure, met
	}
	if figure > t.limit {
		v.Verdict = missed
	}
	return v
}

// worse adds a verdict, or keeps the worse of two for the same tool and number of objects.
func worse(judged []Verdict, v Verdict) []Verdict {
	i := slices.IndexFunc(
		judged,
		func(other Verdict) bool { return other.Tool == v.Tool && other.Objects == v.Objects },
	)
	if i < 0 {
		return append(judged, v)
	}
	order := []string{unjudged, met, missed, failing}
	was, is := slices.Index(order, judged[i].Verdict), slices.Index(order, v.Verdict)
	if is > was || is == was && v.Figure > judged[i].Figure {
		judged[i] = v
	}
	return judged
}

// printVerdicts writes a line for each.
func printVerdicts(out io.Writer, verdicts []Verdict) {
	rows := [][]string{
		{"target", "limit", "tool", "objects", "step", "figure", "verdict"},
		slices.Repeat([]string{"---"}, 7),
	}
	for _, v := range verdicts {
		figure, objects := "", ""
		if v.Verdict == met || v.Verdict == missed {
			figure = fmt.Sprintf("%.3g%s", v.Figure, v.Unit)
		}
		if v.Objects > 0 {
			objects = fmt.Sprint(v.Objects)
		}
		rows = append(
			rows,
			[]string{
				v.Target,
				fmt.Sprintf("%g%s", v.Limit, v.Unit),
				v.Tool,
				objects,
				v.Step,
				figure,
				v.Verdict,
			},
		)
	}
	printRows(out, "targets", rows)
}
