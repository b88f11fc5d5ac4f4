package sets

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/plan"
)

func parseObject(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

// TestGuard: a step with a guard is decided again for an object whose content is the same, and for
// no other. Labels and annotations count unless it is a handover.
func TestGuard(t *testing.T) {
	const before = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, resourceVersion: "1"},
		data: {k: v}}`
	update := plan.Step{Op: plan.Update, Have: parseObject(t, before)}
	p := &plan.Plan{Steps: []plan.Step{{Op: plan.Barrier}, update}}
	Guard(p, content)
	if p.Steps[0].Permit != nil {
		t.Error("a step without an object has a guard")
	}
	created := &plan.Plan{Steps: []plan.Step{{Op: plan.Create}}}
	Guard(created, nil)
	if err := created.Steps[0].Permit(parseObject(t, before)); err == nil {
		t.Error("an object is written over that others created")
	}
	all := &plan.Plan{Steps: []plan.Step{update}}
	Guard(all, nil)
	for live, permitted := range map[string]bool{
		before: true,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, resourceVersion: "2", labels: {x: y},
		  annotations: {b: c}}, data: {k: v}}`: true,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, resourceVersion: "2"},
		  data: {k: w}}`: false,
	} {
		err := p.Steps[1].Permit(parseObject(t, live))
		refused := err != nil && strings.Contains(err.Error(), "others changed it")
		if permitted != (err == nil) || permitted == refused {
			t.Errorf("%s: %v", live, err)
		}
		err = all.Steps[0].Permit(parseObject(t, live))
		if (err == nil) != (live == before) {
			t.Errorf("all of it counts, %s: %v", live, err)
		}
	}
}

// TestTemplateLabel: the label of an app is used again if all pod templates have the same one.
func TestTemplateLabel(t *testing.T) {
	deployment := func(labels string) string {
		return `{kind: Deployment, spec: {template: {metadata: {labels: {` + labels + `}}, spec: {}}}}`
	}
	const config = `{kind: ConfigMap}`
	cron := `{kind: CronJob, spec: {jobTemplate: {spec: {template: {metadata: {labels:
		{kapp.k14s.io/app: "17"}}}}}}}`
	for name, test := range map[string]struct {
		objects []string
		want    string
	}{
		"no templates":     {[]string{config}, ""},
		"no label":         {[]string{deployment("app: web")}, ""},
		"one label":        {[]string{deployment(`kapp.k14s.io/app: "17"`), cron, config}, "17"},
		"different labels": {[]string{deployment(`kapp.k14s.io/app: "18"`), cron}, ""},
		"some without":     {[]string{deployment("app: web"), cron}, ""},
	} {
		var objects []manifest.Object
		for _, text := range test.objects {
			objects = append(objects, manifest.Object{Unstructured: parseObject(t, text)})
		}
		if got := templateLabel(objects); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
