package ui

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestKey(t *testing.T) {
	for title, want := range map[string]string{"Header1": "header1", "FOO!@AND#$BAR": "foo_and_bar",
		"!@#$": "_", "": "_",
		" Wait  to ": "wait_to", "Größe": "größe"} {
		if got := Key(title); got != want {
			t.Errorf("key of %q is %q, want %q", title, got, want)
		}
	}
}

// pets is a table in which everything occurs.
func pets() Table {
	header := Columns("Kind", "Name", "Age", "!")
	header[2].Hidden = true
	return Table{
		Title:   "Pets",
		Content: "pets",
		Header:  header,
		SortBy:  []Sort{{Column: 0}, {Column: 2, Desc: true}},
		Rows: [][]Cell{
			{{Text: "cat"}, {Text: "Zoë\r\nthe first", Style: Faint}, {Text: "3d", Sort: "1"}, {Text: "x"}},
			{{Text: "(none)"}, {Faint: " L ", Text: "", Style: Red}},
			{{Text: "cat"}, {Faint: " L.. ", Text: "Bo"}, {Text: "2y", Sort: "9"}, {Text: "last and long"}},
		},
		Notes: []string{"a note"},
	}
}

func TestTable(t *testing.T) {
	transposed, filled := pets(), pets()
	transposed.Transpose, filled.FillFirst = true, true
	empty := Table{Title: "None", Content: "things", Header: Columns("One", "Two")}
	named, err := pets().selectColumns([]string{"Age", "kind"})
	if err != nil {
		t.Fatal(err)
	}
	behind := pets()
	behind.Header[0].Hidden = true
	for _, test := range []struct {
		name          string
		table         Table
		plain, colour bool
		want          string
	}{
		{name: "decorated", table: pets(), want: "Pets\n\nKind    Name       !  \n(none)   L         " +
			"-  \ncat      L.. Bo    last and long  \n" +
			"^       Zoë        x  \n        the first    \n\na note\n\n3 pets\n"},
		{name: "filled", table: filled, want: "Pets\n\nKind    Name       !  \n(none)   L         -  " +
			"\ncat      L.. Bo    last and long  \n" +
			"cat     Zoë        x  \n        the first    \n\na note\n\n3 pets\n"},
		{name: "plain", table: pets(), plain: true,
			want: "(none)\t L       \t-\t\ncat   \t L.. Bo  \tlast and long\t\n" +
				"cat   \tZoë      \tx\t\n      \tthe first\t\t\n"},
		{name: "transposed", table: transposed, want: "Pets\n\nKind  (none)  \nName   L   \n!     -  " +
			"\n\nKind  cat  \nName   L.. Bo  \n!     last and long  \n\n" +
			"Kind  ^  \nName  Zoë  \n      the first  \n!     x  \n\na note\n\n3 pets\n"},
		{name: "transposed plain", table: transposed, plain: true,
			want: "(none)\t\n L \t\n-\t\n\ncat\t\n L.. Bo\t\nlast and long\t\n\ncat\t\nZoë\t\nthe " +
				"first\t\nx\t\n"},
		{name: "empty", table: empty, want: "None\n\nOne  Two  \n\n0 things\n"},
		{name: "empty plain", table: empty, plain: true},
		{name: "named columns", table: named, want: "Pets\n\nKind    Age  \n(none)  -  \ncat     2y  " +
			"\n^       3d  \n\na note\n\n3 pets\n"},
		{name: "first column hidden", table: behind,
			want: "Pets\n\nName       !  \n L         -  \n L.. Bo    last and long  \nZoë        x  " +
				"\nthe first    \n\na note\n\n3 pets\n"},
		{name: "coloured", table: Table{Header: Columns("A", "B"),
			Rows: [][]Cell{{{Faint: " L ", Text: "x"}, {Text: "bad", Style: Red}}}}, colour: true,
			want: "\x1b[1mA\x1b[0m     \x1b[1mB\x1b[0m  \n\x1b[2m L \x1b[0mx  \x1b[31mbad\x1b[0m  \n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.table.text(test.plain, test.colour)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff(pets(), pets().sortedCopy(t)); diff != "" {
		t.Errorf("printing changed the table:\n%s", diff)
	}
}

// sortedCopy prints the table and gives it.
func (t Table) sortedCopy(tt *testing.T) Table {
	tt.Helper()
	if t.text(false, false) == "" || len(t.encode().Rows) != len(t.Rows) {
		tt.Error("nothing printed")
	}
	return t
}

func TestTableDocument(t *testing.T) {
	got, err := json.Marshal(pets().encode())
	want := `{"Content":"pets","Header":{"3":"!","kind":"Kind","name":"Name"},"Rows":[` +
		`{"3":"","kind":"(none)","name":" L "},{"3":"last and long","kind":"cat","name":" L.. Bo"},` +
		`{"3":"x","kind":"cat","name":"Zoë\r\nthe first"}],"Notes":["a note"]}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

func TestUnknownColumn(t *testing.T) {
	var out strings.Builder
	u := New(Options{Out: &out, Err: &out, Columns: []string{"name", "nope", "Other One"}})
	err := u.Table(pets())
	want := "failed to find following headers: nope, other_one (hint: --column takes kind, name, " +
		"age, _)"
	if err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
	u.Quiet()
	if u.Close(nil); out.String() != "" {
		t.Errorf("printed %q", out.String())
	}
}

func TestNamespaceAndAge(t *testing.T) {
	if Namespace("").Text != "(cluster)" || Namespace("a").Text != "a" {
		t.Error("namespace")
	}
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for ago, want := range map[time.Duration]string{0: "0s", 59 * time.Second: "59s",
		3 * time.Minute: "3m", 125 * time.Minute: "2h",
		96 * time.Hour: "4d", 400 * 24 * time.Hour: "1y", -time.Second: "0s", -time.Hour: "<invalid>"} {
		if got := Age(now.Add(-ago), now); got != want {
			t.Errorf("%s ago is %q, want %q", ago, got, want)
		}
	}
	if Age(time.Time{}, now) != "" {
		t.Error("the zero time has an age")
	}
}

func TestWrap(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"Waiting for generation 5 to be observed", "Waiting for generation 5 to be\nobserved"},
		{"Waiting for 1/1 replicas to be ready", "Waiting for 1/1 replicas to be\nready"},
		{"Load balancer ingress is empty", "Load balancer ingress is empty"},
		{"one\ntwo", "one\ntwo"},
		{strings.Repeat("x", 40) + " " + strings.Repeat("y", 40), strings.Repeat("x", 40) + "\n" +
			strings.Repeat("y", 40)},
		{"a  b " + strings.Repeat("z", 33), "a  b\n" + strings.Repeat("z", 33)},
		{strings.Repeat("ä", 17) + " " + strings.Repeat("ö", 17), strings.Repeat("ä", 17) + " " +
			strings.Repeat("ö", 17)},
	} {
		if got := Wrap(test.text, 35); got != test.want {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}

// BenchmarkTable prints as many rows as a large set has objects.
func BenchmarkTable(b *testing.B) {
	var rows [][]Cell
	for i := range 20000 {
		rows = append(rows, Cells("demo", strings.Repeat("x", i%40), "ConfigMap", "", "create"))
	}
	table := Table{
		Title:  "Changes",
		Header: Columns("Namespace", "Name", "Kind", "Age", "Op"),
		Rows:   rows,
		SortBy: SortBy(0, 1, 2),
	}
	b.ReportAllocs()
	for b.Loop() {
		u := New(Options{Out: io.Discard, Err: io.Discard})
		if err := u.Table(table); err != nil {
			b.Fatal(err)
		}
		u.Close(nil)
	}
}
