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
		{
			Tool:    "a",
			Step:    "create",
			Where:   "empty",
			Samples: []Sample{{1, 0.5, 60, 2}, {3, 0.25, 61, 1}, {2, 0.75, 70, 3}},
			Traffic: &Traffic{
				Verbs:    map[string]int{"POST": 3, "GET": 1},
				Watches:  1,
				Sent:     12345,
				Received: 999,
			},
			Latency: []float64{1, 3},
			Ratios:  &Ratios{Floor: 1.5, Peer: 0.25, Best: "b"},
		},
		{Tool: "b", Step: "create", Samples: []Sample{{1, 2, 3, 4}}, Ratios: &Ratios{Floor: 6}},
		{Tool: "c", Step: "create", Failed: "tool apply x: exit status 1\nand more: so"},
	})
	want := `
a title

| tool | step          | wall s              | × floor | × best peer | client CPU s     | peak MB    | server CPU s     | requests         | kB sent, received | watches | latency ms: median, p90, most | failed        |
| ---  | ---           | ---                 | ---     | ---         | ---              | ---        | ---              | ---              | ---               | ---     | ---                           | ---           |
| a    | create, empty | 2.000 (1.000–3.000) | 1.50    | 0.25 (b)    | 0.50 (0.25–0.75) | 61 (60–70) | 2.00 (1.00–3.00) | 4: GET 1, POST 3 | 12, 0             | 1       | 2.0, 2.8, 3.0 (2 objects)     |               |
| b    | create        | 1.000               | 6.00    |             | 2.00             | 3          | 4.00             |                  |                   |         |                               |               |
| c    | create        |                     |         |             |                  |            |                  |                  |                   |         |                               | exit status 1 |
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
