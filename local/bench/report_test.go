package main

import (
	"strings"
	"testing"
)

func TestQuantile(t *testing.T) {
	values := []float64{5, 1, 4, 2, 3}
	for _, tc := range []struct{ share, want float64 }{{0, 1}, {0.5, 3}, {0.9, 4.6}, {1, 5}} {
		if got := quantile(values, tc.share); got != tc.want {
			t.Errorf("quantile %v of %v: got %v, want %v", tc.share, values, got, tc.want)
		}
	}
	if values[0] != 5 {
		t.Errorf("the values were sorted in place: %v", values)
	}
}

func TestTable(t *testing.T) {
	var out strings.Builder
	printTable(&out, "a title", []*Result{
		{Tool: "a", Step: "apply", Samples: []Sample{{1, 0.5, 60}, {3, 0.25, 61}, {2, 0.75, 70}},
			Requests: map[string]int{"POST": 3, "GET": 1}, Watches: 1, Latency: []float64{1, 3}},
		{Tool: "b", Step: "apply", Samples: []Sample{{1, 2, 3}}},
	})
	want := `
a title

| tool | step  | wall s           | client CPU s     | peak MB    | requests         | watches | latency ms: median, p90, most |
| ---  | ---   | ---              | ---              | ---        | ---              | ---     | ---                           |
| a    | apply | 2.00 (1.00–3.00) | 0.50 (0.25–0.75) | 61 (60–70) | 4: GET 1, POST 3 | 1       | 2.0, 2.8, 3.0 (2 objects)     |
| b    | apply | 1.00             | 2.00             | 3          | not known        |         |                               |
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
