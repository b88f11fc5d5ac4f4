package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// stepOf returns a step that creates or deletes an object with data.
func stepOf(op plan.Op, kind, name string, data map[string]any) plan.Step {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": kind, "data": data,
		"metadata": map[string]any{"name": name, "annotations": map[string]any{"last": "applied"}},
	}}
	step := plan.Step{Ref: object.Ref{Kind: kind, Name: name}, Op: op, Want: obj}
	if op == plan.Delete {
		step.Have, step.Want = obj, nil
	}
	return step
}

// planned is a line of the JSON of a plan.
type planned struct {
	Type, Name, Hidden string
	Changes            diff.Diff
	Omitted            int
}

func plannedLines(t *testing.T, p *plan.Plan) map[string]planned {
	t.Helper()
	var out bytes.Buffer
	j := JSONLines{Out: &out, Now: func() time.Time { return time.Time{} }, Detailed: true}
	if err := j.begin(RunHeader{}, p, false); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "hunter2") {
		t.Errorf("a value of a Secret is printed: %s", out.String())
	}
	lines := map[string]planned{}
	for text := range strings.Lines(out.String()) {
		var l planned
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		if l.Type == "planned" {
			lines[l.Name] = l
		}
	}
	return lines
}

// The JSON of a plan has the content of objects that are created and deleted, with Secrets masked.
func TestPlannedContent(t *testing.T) {
	secret := map[string]any{"password": "hunter2"}
	p := &plan.Plan{LastApplied: "last", Steps: []plan.Step{
		stepOf(plan.Create, "ConfigMap", "new", map[string]any{"level": "info"}),
		stepOf(plan.Delete, "ConfigMap", "old", map[string]any{"level": "info"}),
		stepOf(plan.Create, "Secret", "created", secret),
		stepOf(plan.Delete, "Secret", "deleted", secret),
		stepOf(plan.Create, "ConfigMap", "copy", secret),
		stepOf(plan.Delete, "ConfigMap", "copied", secret),
		stepOf(plan.Create, "ConfigMap", "long", map[string]any{
			"level": "info", "log": strings.Repeat("x", maxContent),
		}),
		stepOf(plan.Keep, "ConfigMap", "kept", nil),
	}}
	p.Steps[4].Sensitive, p.Steps[5].Sensitive = true, true
	lines := plannedLines(t, p)
	for name, want := range map[string]string{
		"new": `+ .apiVersion: "v1"
+ .data: {"level":"info"}
+ .kind: "ConfigMap"
+ .metadata: {"name":"new"}`,
		"old": `- .apiVersion: "v1"
- .data: {"level":"info"}
- .kind: "ConfigMap"
- .metadata: {"name":"old"}`,
		"created": `+ .apiVersion: "v1"
+ .data: {"password":"***"}
+ .kind: "Secret"
+ .metadata: {"name":"created"}`,
		"deleted": `- .apiVersion: "v1"
- .data: {"password":"***"}
- .kind: "Secret"
- .metadata: {"name":"deleted"}`,
		"copy": "", "copied": "", "kept": "",
		"long": `+ .apiVersion: "v1"
+ .data.level: "info"
+ .kind: "ConfigMap"
+ .metadata: {"name":"long"}`,
	} {
		if got := lines[name].Changes.String(); got != want {
			t.Errorf("%s has:\n%s\nwant:\n%s", name, got, want)
		}
	}
	for _, name := range []string{"copy", "copied"} {
		if lines[name].Hidden != ContentHidden {
			t.Errorf("%s does not say why it has no content: %q", name, lines[name].Hidden)
		}
	}
	if lines["long"].Omitted != 1 || lines["new"].Omitted != 0 {
		t.Errorf("%d and %d values are left out", lines["long"].Omitted, lines["new"].Omitted)
	}
}

// The content of all objects is limited, too.
func TestContentLimit(t *testing.T) {
	p := &plan.Plan{}
	for i := range 2 * maxContents / maxContent {
		p.Steps = append(p.Steps, stepOf(plan.Create, "ConfigMap", fmt.Sprint("c", i),
			map[string]any{"log": strings.Repeat("x", maxContent*9/10)}))
	}
	size, hidden := 0, 0
	for _, l := range plannedLines(t, p) {
		size += l.Changes.Size()
		if l.Hidden == contentOmitted {
			hidden++
		}
	}
	if size > maxContents || size < maxContents*9/10 || hidden == 0 {
		t.Errorf("%d bytes, and %d objects without content", size, hidden)
	}
}
