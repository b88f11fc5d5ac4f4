package sets

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/manifest"
)

func parseObject(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
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
