package e2e

import (
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/local/laws"
)

// checkPlan checks that a plan had the objects that have changed since, with the fields that have,
// and no others, and that it announced which objects are recreated. Before is what was read after
// the plan.
func (b *batch) checkPlan(
	when string, plan map[string]planned, before map[string]*unstructured.Unstructured,
) {
	b.t.Helper()
	after := b.read()
	for _, m := range b.members {
		if m.failed {
			continue
		}
		was, is, p := before[m.key()], after[m.key()], plan[m.key()]
		written := !reflect.DeepEqual(bookkeeping(was), bookkeeping(is))
		recreated := was != nil && is != nil && was.GetUID() != is.GetUID()
		was, is = contentOrNil(was), contentOrNil(is)
		changed := recreated || !reflect.DeepEqual(was, is)
		switch {
		case changed && p.Action == "":
			b.fail(m, when, "it was changed, and the plan had nothing\nbefore:\n%s\nafter:\n%s",
				asYAML(was), asYAML(is))
		case !changed && (len(p.Changes) > 0 || p.Action == "configure" && !written):
			b.fail(m, when, "the plan had %v, and nothing was changed", p)
		case recreated != (p.Action == "recreate"):
			b.fail(m, when, "recreated: %t, but the plan had %v", recreated, p)
		case was != nil && is != nil && !recreated:
			b.checkFields(m, when, p, was, is)
		}
	}
}

// contentOrNil returns the content of an object, nil if there is none.
func contentOrNil(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if obj == nil {
		return nil
	}
	return content(obj, obj.GetName())
}

// bookkeeping returns what shows in an object who has applied what: annotations, and who owns its
// fields. A plan that shows no field of an object that is configured says that only this changes.
func bookkeeping(obj *unstructured.Unstructured) []any {
	if obj == nil {
		return nil
	}
	kept := []any{obj.GetAnnotations(), obj.GetLabels()}
	for _, entry := range obj.GetManagedFields() {
		if entry.Subresource == "" {
			entry.Time = nil
			kept = append(kept, entry)
		}
	}
	return kept
}

// checkFields checks that a plan had the fields of an object that have changed, and no others.
// Fields that the server chooses do not count.
func (b *batch) checkFields(m *member, when string, p planned, was, is *unstructured.Unstructured) {
	b.t.Helper()
	var shown []string
	for _, change := range p.Changes {
		if !isMark(change.Path) {
			shown = append(shown, laws.Shown(change.Path))
		}
	}
	changed := laws.Changed(was, is)
	if missing := without(changed, shown); len(missing) > 0 {
		b.fail(m, when, "the plan did not show that these change: %v; it had %v", missing, p)
	} else if idle := without(shown, changed); len(idle) > 0 {
		b.fail(m, when, "the plan showed changes of %v, which did not change", idle)
	}
}

// without returns the paths of a list that are neither in another one nor below or above one there.
func without(paths, others []string) (left []string) {
	for _, path := range paths {
		if !slices.ContainsFunc(others, func(other string) bool {
			return strings.HasPrefix(path, other) || strings.HasPrefix(other, path)
		}) {
			left = append(left, path)
		}
	}
	return left
}

// checkLingering checks that an object that nobody else has edited has no values but those of a
// version. Defaults may stay that were right for the other version.
func (b *batch) checkLingering(
	m *member, live *unstructured.Unstructured, version int, when string,
) {
	b.t.Helper()
	if m.failed || m.others != nil {
		return
	}
	want, other := m.want[version], 1-version
	extra := b.generator.Schemas.Missing(live, want, func(path laws.Path) bool {
		isDefault := path.Get(m.want[other].Object) != nil && path.Get(m.manifest(other).Object) == nil
		return isDefault && m.edit != nil || isOfOthers(path) || isEmptyValue(path.Get(live.Object)) ||
			slices.ContainsFunc(m.ignored[version], path.Begins)
	})
	if len(extra) > 0 {
		b.fail(m, when, "no manifest has these values:\n%s", strings.Join(extra, "\n"))
	}
}

// isOfOthers reports whether a value is one that controllers set.
func isOfOthers(path laws.Path) bool {
	return path[0] == "metadata" ||
		slices.Contains([]string{"spec.nodeName", "spec.volumeName"}, path.String())
}

// isVoid reports whether a value is absent, or a map or list without content.
func isVoid(value any) bool {
	switch value.(type) {
	case nil, map[string]any, []any:
		return isEmptyValue(value)
	}
	return false
}

// isEmptyValue reports whether a value is absent, zero, or without content.
func isEmptyValue(value any) bool {
	switch at := value.(type) {
	case map[string]any:
		for _, inner := range at {
			if !isEmptyValue(inner) {
				return false
			}
		}
		return true
	case []any:
		return len(at) == 0
	}
	return value == nil || reflect.ValueOf(value).IsZero()
}

// checkFixed checks that nothing is left of the edits by others.
func (b *batch) checkFixed() {
	b.t.Helper()
	for _, m := range b.members {
		if !m.failed {
			m.others = nil
		}
	}
	b.checkLive(0, "a fix")
}

// createTarget creates the Deployment without pods that HorizontalPodAutoscalers scale.
func (b *batch) createTarget() {
	b.t.Helper()
	labels := map[string]any{"app": "stopped"}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "stopped", "namespace": b.namespace},
		"spec": map[string]any{
			"replicas": int64(0), "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec": map[string]any{
					"containers": []any{map[string]any{"name": "main", "image": "example/main:1"}},
				},
			},
		},
	}}
	_, err := b.resources(obj).Create(b.t.Context(), obj, metav1.CreateOptions{})
	check(b.t, err)
}
