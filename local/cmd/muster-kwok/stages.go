package main

import (
	"bytes"
	"fmt"
	"io/fs"

	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/local/plane/stages"
)

// loadStages reads the stages, by the kind of object that they are about. A field that kwok does
// not know is an error.
func loadStages() (map[internalversion.StageResourceRef][]*internalversion.Stage, error) {
	files, err := fs.Glob(stages.Files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("read stages: %w", err)
	}
	out := map[internalversion.StageResourceRef][]*internalversion.Stage{}
	for _, file := range files {
		data, err := stages.Files.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read stages: %w", err)
		}
		for i, document := range bytes.Split(data, []byte("\n---\n")) {
			stage := &v1alpha1.Stage{}
			if err := yaml.UnmarshalStrict(document, stage); err != nil {
				return nil, fmt.Errorf("read stages: %s: document %d: %w", file, i+1, err)
			}
			internal, err := internalversion.ConvertToInternalStage(stage)
			if err != nil {
				return nil, fmt.Errorf("read stages: %s: %s: %w", file, stage.Name, err)
			}
			ref := internal.Spec.ResourceRef
			out[ref] = append(out[ref], internal)
		}
	}
	return out, nil
}
