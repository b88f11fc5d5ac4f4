package plane

import (
	"bytes"
	"io/fs"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/local/plane/stages"
)

// The stages are YAML, and each has a name of its own. What they mean is tested beside the program
// that plays them.
func TestStagesParse(t *testing.T) {
	files, err := fs.Glob(stages.Files, "*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	seen := map[string]string{}
	for _, file := range files {
		data, err := stages.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range bytes.Split(data, []byte("\n---\n")) {
			stage := struct {
				Kind     string
				Metadata struct{ Name string }
			}{}
			if err := yaml.Unmarshal(document, &stage); err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			name := stage.Metadata.Name
			if stage.Kind != "Stage" || name == "" || seen[name] != "" {
				t.Errorf("%s: kind %q, name %q, seen in %q", file, stage.Kind, name, seen[name])
			}
			seen[name] = file
		}
	}
}
