package policy

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// annotated is an object with one annotation.
func annotated(key, value string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetAnnotations(map[string]string{key: value})
	return obj
}

// TestDependencies reads the sections depends-on and apply-time-mutation, in which a line of dashes
// separates values.
func TestDependencies(t *testing.T) {
	golden.Run(
		t,
		"testdata/annotation_*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			out := map[string]string{}
			for section, read := range map[string]func(string) (string, error){
				"depends-on": func(value string) (string, error) {
					refs, err := DependsOn(annotated(DependsOnKey, value))
					return lines(refs), err
				},
				"apply-time-mutation": func(value string) (string, error) {
					list, err := substitutions(annotated(MutationKey, value))
					return lines(list), err
				},
			} {
				var b strings.Builder
				for value := range strings.SplitSeq(files[section], "---\n") {
					text, err := read(strings.TrimSuffix(value, "\n"))
					if b.WriteString(text); err != nil {
						b.WriteString("error: " + err.Error() + "\n")
					}
					b.WriteString("---\n")
				}
				if files[section] != "" {
					out[section] = strings.TrimSuffix(b.String(), "---\n")
				}
			}
			return out
		},
	)
}

func lines[T interface{ String() string }](list []T) string {
	var b strings.Builder
	for _, item := range list {
		b.WriteString(item.String() + "\n")
	}
	return b.String()
}

// TestErrorsOfReferencesAreData pins what other wordings are made of.
func TestErrorsOfReferencesAreData(t *testing.T) {
	_, err := DependsOn(annotated(DependsOnKey, "/Namespace/a, apps/x, /Namespace/a"))
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 2 {
		t.Fatalf("error = %v, want two joined", err)
	}
	unread, repeated, annotation := (*ReferenceError)(nil), (*RepeatedError)(
		nil,
	), (*AnnotationError)(nil)
	if err := joined.Unwrap()[0]; !errors.As(err, &unread) || unread.Index != 1 ||
		unread.Text != "apps/x" {
		t.Errorf("first error = %#v", err)
	}
	if err := joined.Unwrap()[1]; !errors.As(err, &repeated) ||
		repeated.Ref != (object.Ref{Kind: "Namespace", Name: "a"}) {
		t.Errorf("second error = %#v", err)
	}
	if !errors.As(err, &annotation) || annotation.Key != DependsOnKey {
		t.Errorf("annotation = %#v", annotation)
	}
}

// FuzzDependsOn checks that what is read says exactly what was written.
func FuzzDependsOn(f *testing.F) {
	for _, value := range []string{"", ",", "apps/namespaces/n/Deployment/web", "/Namespace/n, " +
		"/namespaces/n/ConfigMap/c", "a/b", "a/b/c/d/e",
		" apps/namespaces//Deployment/web ", "///",
		"/namespaces/n/ConfigMap/c,/namespaces/n/ConfigMap/c", "a/namespaces/b"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		refs, err := DependsOn(annotated(DependsOnKey, value))
		if err != nil {
			return
		}
		var written []string
		for _, ref := range refs {
			fields := []string{ref.Group, ref.Kind, ref.Name}
			if ref.Namespace != "" {
				fields = []string{ref.Group, "namespaces", ref.Namespace, ref.Kind, ref.Name}
			}
			written = append(written, strings.Join(fields, "/"))
		}
		given := strings.Split(value, ",")
		for i := range given {
			given[i] = strings.TrimSpace(given[i])
		}
		if diff := cmp.Diff(given, written); diff != "" {
			t.Errorf("%q is read as something else (-want +got):\n%s", value, diff)
		}
	})
}

// FuzzSubstitutions checks that what is read is whole: a source, and paths that can be asked for.
func FuzzSubstitutions(f *testing.F) {
	for _, value := range []string{"", "[]", "{}", "- sourceRef: {kind: ConfigMap, name: a}\n  " +
		"sourcePath: $.data.x\n  targetPath: $.data.y\n",
		"- sourceRef: {group: apps, apiVersion: v1, kind: K, name: n, namespace: m}\n  sourcePath: " +
			"$\n  targetPath: $['a']\n  token: ${x}\n",
		"- sourceRef: {apiVersion: a/b/c}", "- null", "- {sourcePath: " +
			"1}", "a: &a [*a]", "- sourceref: {kind: x}"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		list, err := substitutions(annotated(MutationKey, value))
		if err != nil && list != nil {
			t.Errorf("%q gives substitutions and an error", value)
		}
		whole := func(s mutation.Substitution) bool {
			return s.Source.Kind != "" && s.Source.Name != "" && mutation.CheckPath(s.From) == nil &&
				mutation.CheckPath(s.To) == nil
		}
		if slices.ContainsFunc(list, func(s mutation.Substitution) bool { return !whole(s) }) {
			t.Errorf("%q gives incomplete substitutions: %v", value, list)
		}
	})
}
