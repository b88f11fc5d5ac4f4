package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"
)

// shape checks that documents have the keys that are promised: each line of the file WANT is the
// path of a value and its type, as in ".items[].name string". More keys may be there. FILE has
// JSON documents one after the other, or one document of YAML.
func shape(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 2, neg, "shape FILE WANT")
	documents, err := readDocuments(ts.ReadFile(args[0]))
	ts.Check(err)
	found := map[string]bool{}
	for _, document := range documents {
		addShape(found, "", document)
	}
	var missing []string
	for want := range strings.Lines(ts.ReadFile(args[1])) {
		if want = strings.TrimSpace(want); want != "" && !found[want] {
			missing = append(missing, want)
		}
	}
	if missing != nil {
		ts.Fatalf("missing in %s:\n%s\nthere is:\n%s", args[0], strings.Join(missing, "\n"),
			strings.Join(slices.Sorted(maps.Keys(found)), "\n"))
	}
}

// readDocuments reads a stream of JSON, or a document of YAML.
func readDocuments(text string) (documents []any, err error) {
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		var document any
		err := yaml.Unmarshal([]byte(text), &document)
		return []any{document}, err
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	for {
		var document any
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return documents, nil
		} else if err != nil {
			return nil, err
		}
		documents = append(documents, document)
	}
}

// addShape adds the paths and types of all values within a value.
func addShape(found map[string]bool, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			addShape(found, path+"."+key, inner)
		}
		found[path+" object"] = true
	case []any:
		for _, inner := range value {
			addShape(found, path+"[]", inner)
		}
		found[path+" list"] = true
	case string:
		found[path+" string"] = true
	case float64:
		found[path+" number"] = true
	case bool:
		found[path+" boolean"] = true
	}
}
