package main

import (
	"fmt"
	"slices"
	"strings"
)

// Result is what was found out about one step of a tool's work.
type Result struct {
	Scenario string    `json:"scenario"`
	Where    string    `json:"where,omitempty"` // the kind of cluster, if there are several
	Tool     string    `json:"tool"`
	Step     string    `json:"step"`
	Objects  int       `json:"objects"`
	Samples  []Sample  `json:"samples"`           // one for each round
	Traffic  *Traffic  `json:"traffic,omitempty"` // of one run
	Latency  []float64 `json:"latency,omitempty"` // ms from ready to the line that reports it
	Size     float64   `json:"size,omitempty"`    // of the program, in MB (10^6 bytes)
	Ratios   *Ratios   `json:"ratios,omitempty"`  // of the wall time
	Failed   string    `json:"failed,omitempty"`  // why the tool did not come to the end

	role role
}

// take adds a run: a counted one counts for what went over the wire, and a timed one for the time.
func (r *Result) take(done *ran, m mode) {
	switch m {
	case counting:
		r.Traffic = done.traffic
	case timing:
		r.Samples = append(r.Samples, done.Sample)
	}
}

// label names the files of its profiles.
func (r *Result) label() string {
	parts := []string{
		r.Scenario,
		fmt.Sprint(r.Objects),
		r.Where,
		r.Tool,
		strings.NewReplacer(" ", "-", "%", "").Replace(r.Step),
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "-")
}

// The fields of samples, for medians.

func wall(s Sample) float64   { return s.Wall }
func cpu(s Sample) float64    { return s.CPU }
func memory(s Sample) float64 { return s.Peak }
func server(s Sample) float64 { return s.Server }

// values returns one field of all samples.
func (r *Result) values(field func(Sample) float64) []float64 {
	var values []float64
	for _, s := range r.Samples {
		values = append(values, field(s))
	}
	return values
}

// median returns the median of one field. It is known if there are samples and the tool has not
// failed.
func (r *Result) median(field func(Sample) float64) (value float64, known bool) {
	if len(r.Samples) == 0 || r.Failed != "" {
		return 0, false
	}
	return quantile(r.values(field), 0.5), true
}

// resultSet collects results by tool, place and step.
type resultSet struct{ all []*Result }

// of returns the result for a step of a tool, and creates it on the first call.
func (s *resultSet) of(at *site, t tool, where, step string) *Result {
	for _, r := range s.all {
		if r.Tool == t.name && r.Where == where && r.Step == step {
			return r
		}
	}
	r := &Result{
		Scenario: at.name,
		Where:    where,
		Tool:     t.name,
		Step:     step,
		Objects:  at.objects,
		role:     t.role,
	}
	s.all = append(s.all, r)
	return r
}

// failed reports whether a step of a tool has failed.
func (s *resultSet) failed(t tool) bool {
	return slices.ContainsFunc(
		s.all,
		func(r *Result) bool { return r.Tool == t.name && r.Failed != "" },
	)
}

// inOrder returns the results in the order of the tools.
func (s *resultSet) inOrder(tools []tool) []*Result {
	var ordered []*Result
	for _, t := range tools {
		for _, r := range s.all {
			if r.Tool == t.name {
				ordered = append(ordered, r)
			}
		}
	}
	return ordered
}

// quantile returns a quantile of the values, interpolated between the two nearest. It panics
// without values.
func quantile(values []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	at := share * float64(len(sorted)-1)
	low := int(at)
	if low == len(sorted)-1 {
		return sorted[low]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}
