package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// unions is a server that accepts at most so many of some fields in the source of a Widget, and at
// least one. Its refusal names no member of it.
type unions struct {
	*enginetest.Cluster
	members []string
	most    int
	at      *field.Path
}

func (u unions) Write(ctx context.Context, w cluster.Write) (*unstructured.Unstructured, error) {
	trial := w
	trial.DryRun = true
	next, err := u.Cluster.Write(ctx, trial)
	if err != nil {
		return nil, err
	}
	source, _, _ := unstructured.NestedMap(next.Object, "spec", "source")
	count := 0
	for _, name := range u.members {
		if _, has := source[name]; has {
			count++
		}
	}
	if next.GetKind() == "Widget" && (count == 0 || count > u.most) {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: "example.com", Kind: "Widget"}, "a",
			field.ErrorList{field.Invalid(u.at, "", "must validate one and only one schema (oneOf)")})
	}
	return u.Cluster.Write(ctx, w)
}

// Others have put another member of a union in place of the one in the manifest. The run takes it
// away if the server accepts nothing else, and the plan shows it. If it is not known which field is
// in the way, the error names those of others.
func TestUnionsOfCustomResources(t *testing.T) {
	const owners = `{"f:spec":{"f:source":{"f:url":{},"f:sum":{}},"f:zone":{}}}`
	for _, tc := range []struct {
		name    string
		members []string
		most    int
		at      *field.Path
		theirs  map[string]any
		left    string // the source at the end
		says    string // the error
	}{
		{"at the map", []string{"file", "url"}, 1, field.NewPath("spec", "source"),
			map[string]any{"url": "u", "size": "1"}, "file size", ""},
		{"nowhere", []string{"file", "url"}, 1, nil, map[string]any{"url": "u"}, "file", ""},
		{"above", []string{"file", "url"}, 1, field.NewPath("spec"),
			map[string]any{"url": "u"}, "file", ""},
		{"beside another field of others", []string{"file", "url"}, 1, field.NewPath("spec", "source"),
			map[string]any{"url": "u", "sum": "s"}, "file sum", ""},
		{"either of two", []string{"file", "url", "sum"}, 2, field.NewPath("spec", "source"),
			map[string]any{"url": "u", "sum": "s"}, "sum url",
			"beside fields of the manifest, others have set .spec.source.sum, by kubectl-edit; " +
				".spec.source.url, by kubectl-edit; remove what the manifest excludes, or: recreate Widget"},
		{"another field", []string{"other"}, 1, field.NewPath("spec", "zone", "code"),
			map[string]any{"url": "u"}, "url", "spec.zone.code: Invalid value"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{})
				p := policy()
				p.Manager, p.LastApplied, p.RecreateHint = "muster", "applied", "recreate KIND"
				widget := thing("Widget/a")
				widget.Object["spec"] = map[string]any{"source": map[string]any{"file": "f"}}
				if _, err := w.apply(t.Context(), p, realRun, want(widget)...); err != nil {
					t.Fatal(err)
				}
				live := w.Object(ref("Widget/a"))
				live.Object["spec"] = map[string]any{"source": tc.theirs, "zone": "z"}
				live.SetManagedFields([]metav1.ManagedFieldsEntry{{
					Manager: "kubectl-edit", Operation: "Update", APIVersion: "example.com/v1",
					FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(owners),
				}})
				w.Put(live)
				w.Wrote = nil
				e := &engine.Engine{Cluster: unions{w.Cluster, tc.members, tc.most, tc.at}, Records: w.store}
				for _, mode := range []engine.DryRun{engine.DryRunClient, engine.DryRunNone} {
					plan, err := e.Plan(t.Context(), engine.Request{Desired: want(widget), Policy: p})
					if err != nil {
						t.Fatal(err)
					}
					acted := 0
					_, err = e.Apply(t.Context(), plan, engine.Options{DryRun: mode}, func(e event.Event) {
						if e.Kind != event.Acted {
							return
						}
						acted++
						if e.Err == nil != (tc.says == "") ||
							e.Err != nil && !strings.Contains(e.Err.Error(), tc.says) {
							t.Errorf("dry run %q: %v", mode, e.Err)
						}
						if mode == engine.DryRunClient && e.Err == nil {
							source, _, _ := unstructured.NestedMap(e.DryRunObject.Object, "spec", "source")
							if _, has := source["url"]; has {
								t.Errorf("the plan shows %v", source)
							}
						}
					})
					if err != nil || acted != 1 {
						t.Fatalf("dry run %q: %d steps, %v", mode, acted, err)
					}
				}
				source, _, _ := unstructured.NestedMap(w.Object(ref("Widget/a")).Object, "spec", "source")
				var left []string
				for name := range source {
					left = append(left, name)
				}
				slices.Sort(left)
				if got := strings.Join(left, " "); got != tc.left {
					t.Errorf("the source has %s, want %s", got, tc.left)
				}
			})
		})
	}
}
