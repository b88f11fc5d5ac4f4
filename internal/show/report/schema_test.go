package report

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"
)

// TestSchema validates a recorded run, and the lines that it must refuse.
func TestSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../../docs/run.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var files []txtar.File
	for _, name := range []string{"failed", "rolled_back", "not_rolled_back"} {
		archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, archive.Files...)
	}
	validate := func(text string) error {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(value)
	}
	lines := 0
	for _, file := range files {
		if file.Name != "run.jsonl" {
			continue
		}
		for line := range strings.Lines(string(file.Data)) {
			if lines++; validate(line) != nil {
				t.Errorf("%v:\n%s", validate(line), line)
			}
		}
	}
	if lines == 0 {
		t.Error("there is no line")
	}
	for _, line := range []string{
		`{}`, `{"type":"apply","timestamp":"2026-11-24T00:25:26Z"}`,
		`{"type":"version","timestamp":"2026-11-24T00:25:26Z","ui":"2.0","muster":"v1"}`,
		`{"type":"result","timestamp":"2026-11-24T00:25:26Z","outcome":"fine"}`,
	} {
		if validate(line) == nil {
			t.Errorf("the schema allows %s", line)
		}
	}
}
