package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// Result is what was found out about one step of a tool's work.
type Result struct {
	Scenario string         `json:"scenario"`
	Tool     string         `json:"tool"`
	Step     string         `json:"step"`
	Objects  int            `json:"objects"`
	Samples  []Sample       `json:"samples"`            // one for each round
	Requests map[string]int `json:"requests,omitempty"` // by verb, of one run; none when the tool does not show them
	Watches  int            `json:"watches,omitempty"`  // different things that were watched
	Latency  []float64      `json:"latency,omitempty"`  // milliseconds from ready to the line that says so, of all rounds
}

// take adds a run of which both the time and the requests count.
func (r *Result) take(done *ran) {
	r.Samples = append(r.Samples, done.Sample)
	r.Requests, r.Watches = done.requests.verbs, len(done.requests.watches)
}

// resultSet collects results by tool and step.
type resultSet struct{ all []*Result }

// of gives the result for a step of a tool, which is made when it is first asked for.
func (s *resultSet) of(at *site, t tool, step string) *Result {
	for _, r := range s.all {
		if r.Tool == t.name && r.Step == step {
			return r
		}
	}
	r := &Result{Scenario: at.name, Tool: t.name, Step: step, Objects: at.objects}
	s.all = append(s.all, r)
	return r
}

// inOrder gives the results in the order of the tools.
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

// printTable writes a table in Markdown, with medians and, where there are several rounds, the least and the most.
func printTable(out io.Writer, title string, results []*Result) {
	fmt.Fprintf(out, "\n%s\n\n", title)
	table := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	row := func(cells ...string) { fmt.Fprintf(table, "| %s\t|\n", strings.Join(cells, "\t| ")) }
	row("tool", "step", "wall s", "client CPU s", "peak MB", "requests", "watches", "latency ms: median, p90, most")
	row("---", "---", "---", "---", "---", "---", "---", "---")
	for _, r := range results {
		of := func(field func(Sample) float64, format string) string {
			var values []float64
			for _, sample := range r.Samples {
				values = append(values, field(sample))
			}
			return spread(values, format)
		}
		row(r.Tool, r.Step,
			of(func(s Sample) float64 { return s.Wall }, "%.2f"),
			of(func(s Sample) float64 { return s.CPU }, "%.2f"),
			of(func(s Sample) float64 { return s.Peak }, "%.0f"),
			verbs(r.Requests), watches(r), latency(r.Latency))
	}
	table.Flush()
}

// spread is the median, followed by the least and the most if there are several values.
func spread(values []float64, format string) string {
	if len(values) == 0 {
		return ""
	}
	text := fmt.Sprintf(format, quantile(values, 0.5))
	if len(values) > 1 {
		text += fmt.Sprintf(" ("+format+"–"+format+")", slices.Min(values), slices.Max(values))
	}
	return text
}

// verbs are the requests in all, and by verb.
func verbs(requests map[string]int) string {
	if requests == nil {
		return "not known"
	}
	total := 0
	var parts []string
	for _, verb := range slices.Sorted(maps.Keys(requests)) {
		total += requests[verb]
		parts = append(parts, fmt.Sprintf("%s %d", verb, requests[verb]))
	}
	return fmt.Sprintf("%d: %s", total, strings.Join(parts, ", "))
}

func watches(r *Result) string {
	if r.Requests == nil || r.Watches == 0 {
		return ""
	}
	return fmt.Sprint(r.Watches)
}

func latency(values []float64) string {
	if len(values) == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f, %.1f, %.1f (%d objects)", quantile(values, 0.5), quantile(values, 0.9), slices.Max(values), len(values))
}

// quantile gives the value below which a share of the values lies, or that lies between the two nearest. It panics
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

// writeJSON writes all results to a file, if one is named.
func writeJSON(file string, results []*Result) error {
	if file == "" {
		return nil
	}
	data, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}
