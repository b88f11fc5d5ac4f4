package e2e

import (
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// validateRuns validates each line of recorded runs against the schema in the documentation.
func validateRuns(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) > 0, neg, "schema FILE...")
	compiled, err := jsonschema.NewCompiler().Compile("../../docs/run.schema.json")
	ts.Check(err)
	for _, file := range args {
		for line := range strings.Lines(ts.ReadFile(file)) {
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
			ts.Check(err)
			if err := compiled.Validate(value); err != nil {
				ts.Fatalf("%s: %v:\n%s", file, err, line)
			}
		}
	}
}
