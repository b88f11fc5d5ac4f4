package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// column is one of the printed table.
type column struct {
	title string
	cell  func(*Result) string
}

var columns = []column{
	{"tool", func(r *Result) string { return r.Tool }},
	{"step", func(r *Result) string { return strings.TrimSuffix(r.Step+", "+r.Where, ", ") }},
	{"wall s", field(wall, "%.3f")},
	{"× floor", func(r *Result) string { return r.Ratios.text(r.Ratios.floor()) }},
	{
		"× best peer",
		func(r *Result) string { return r.Ratios.text(r.Ratios.peer()) + r.Ratios.name() },
	},
	{"client CPU s", field(cpu, "%.2f")},
	{"peak MB", field(memory, "%.0f")},
	{"server CPU s", field(server, "%.2f")},
	{"requests", requests},
	{"kB sent, received", bytesOf},
	{"watches", watches},
	{"latency ms: median, p90, most", latency},
	{"program MB", size},
	{"failed", func(r *Result) string { // how it ended; the file has more
		first, _, _ := strings.Cut(r.Failed, "\n")
		return strings.TrimSpace(first[strings.LastIndex(first, ":")+1:])
	}},
}

// printTable writes a table in Markdown, with medians and, where there are several rounds, the
// least and the most. Columns in which nothing stands are left out, and so is a table without
// results.
func printTable(out io.Writer, title string, results []*Result) {
	if len(results) == 0 {
		return
	}
	var titles, dashes []string
	rows := make([][]string, len(results))
	for _, c := range columns {
		cells := make([]string, len(results))
		for i, r := range results {
			cells[i] = c.cell(r)
		}
		if !slices.ContainsFunc(cells, func(cell string) bool { return cell != "" }) {
			continue
		}
		titles, dashes = append(titles, c.title), append(dashes, "---")
		for i, cell := range cells {
			rows[i] = append(rows[i], cell)
		}
	}
	printRows(out, title, append([][]string{titles, dashes}, rows...))
}

func printRows(out io.Writer, title string, rows [][]string) {
	fmt.Fprintf(out, "\n%s\n\n", title)
	table := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	for _, cells := range rows {
		fmt.Fprintf(table, "| %s\t|\n", strings.Join(cells, "\t| "))
	}
	table.Flush()
}

// field returns a cell with the median of one field, followed by its range if there are several
// values.
func field(of func(Sample) float64, format string) func(*Result) string {
	return func(r *Result) string {
		values := r.values(of)
		if len(values) == 0 {
			return ""
		}
		text := fmt.Sprintf(format, quantile(values, 0.5))
		if len(values) > 1 {
			text += fmt.Sprintf(" ("+format+"–"+format+")", slices.Min(values), slices.Max(values))
		}
		return text
	}
}

// requests formats the number of requests, in total and by verb.
func requests(r *Result) string {
	if r.Traffic == nil {
		return ""
	}
	var parts []string
	for _, verb := range r.Traffic.verbsInOrder() {
		parts = append(parts, fmt.Sprintf("%s %d", verb, r.Traffic.Verbs[verb]))
	}
	return strings.TrimSuffix(
		fmt.Sprintf("%d: %s", r.Traffic.Requests(), strings.Join(parts, ", ")),
		": ",
	)
}

func bytesOf(r *Result) string {
	if r.Traffic == nil {
		return ""
	}
	return fmt.Sprintf("%d, %d", r.Traffic.Sent/1000, r.Traffic.Received/1000)
}

func watches(r *Result) string {
	if r.Traffic == nil || r.Traffic.Watches == 0 {
		return ""
	}
	return fmt.Sprint(r.Traffic.Watches)
}

func latency(r *Result) string {
	values := r.Latency
	if len(values) == 0 {
		return ""
	}
	return fmt.Sprintf(
		"%.1f, %.1f, %.1f (%d objects)",
		quantile(values, 0.5),
		quantile(values, 0.9),
		slices.Max(values),
		len(values),
	)
}

func size(r *Result) string {
	if r.Size == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", r.Size)
}

// report is what the file of all samples holds.
type report struct {
	Results []*Result `json:"results"`
	Targets []Verdict `json:"targets"`
}

// writeJSON writes all results to a file, if one is named.
func writeJSON(file string, results []*Result, verdicts []Verdict) error {
	if file == "" {
		return nil
	}
	data, err := json.MarshalIndent(report{results, verdicts}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}
