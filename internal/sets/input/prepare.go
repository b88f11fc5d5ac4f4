package input

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// Preparation checks and completes objects.
type Preparation struct {
	Namespace string   // of namespaced objects without one; may be empty
	IntoNs    string   // of all namespaced objects; empty changes nothing
	MapNs     []string // "from=to", applied last; has to cover all namespaces if not empty

	AllowCheck   bool     // enables CheckNamespaces
	AllowNs      []string // allowed besides Namespace, IntoNs and the targets of MapNs
	AllowAllNs   bool     // allows all namespaces if AllowNs is empty
	AllowCluster bool     // allows objects without a namespace

	// Kinds reports whether the cluster serves a kind, and whether it is namespaced. It is called
	// once for each kind that the objects do not define themselves.
	Kinds func(schema.GroupVersionKind) (namespaced, known bool, err error)
	// Now is the value of nonces.
	Now time.Time
}

// Run checks objects and completes them in place. It returns them in order, without duplicates.
// Errors are kapp's.
func (p Preparation) Run(all []resource.Resource) ([]resource.Resource, error) {
	if err := validate(all); err != nil {
		return nil, err
	}
	all, err := removeDuplicates(all)
	if err != nil {
		return nil, err
	}
	if err := p.setNamespaces(all); err != nil {
		return nil, err
	}
	if all, err = removeDuplicates(all); err != nil { // objects of two namespaces may now be in one
		return nil, err
	}
	objects := make([]*unstructured.Unstructured, len(all))
	for i, r := range all {
		if err := p.setNonce(r.Unstructured); err != nil {
			return nil, err
		}
		objects[i] = r.Unstructured
	}
	return all, CheckLabels(objects)
}

// maxProblems limits the problems of one list.
const maxProblems = 100

// joinProblems returns an error with a title and a list of problems, or nil if there are none.
func joinProblems(title string, problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%s errors:\n- %s", title, strings.Join(problems, "\n- "))
}

// validate checks the fields that identify objects, and the types of their metadata.
func validate(all []resource.Resource) error {
	var problems []string
	for _, r := range all {
		fail := func(field, what string) {
			problems = append(problems, fmt.Sprintf("Expected '%s' on resource '%s' to be %s (%s)",
				field, resource.Describe(r.Unstructured), what, r.Origin))
		}
		if r.GetKind() == "" {
			fail("kind", "non-empty")
		}
		if r.GetAPIVersion() == "" {
			fail("apiVersion", "non-empty")
		}
		if r.GetName() == "" && r.GetGenerateName() == "" {
			fail("metadata.name", "non-empty")
		}
		metadata, _ := r.Object["metadata"].(map[string]any)
		if _, ok := metadata["namespace"].(string); !ok && metadata["namespace"] != nil {
			fail("metadata.namespace", "a string")
		}
		for _, key := range []string{"labels", "annotations"} {
			if !isStringMap(metadata[key]) {
				fail("metadata."+key, "a map of strings")
			}
		}
	}
	return joinProblems("Validation", problems)
}

// isStringMap reports whether a value is missing or a map of strings, some of which may be null.
func isStringMap(value any) bool {
	entries, ok := value.(map[string]any)
	if !ok {
		return value == nil
	}
	for _, entry := range entries {
		if _, ok := entry.(string); !ok && entry != nil {
			return false
		}
	}
	return true
}

// removeDuplicates removes objects that occur before with the same content.
func removeDuplicates(all []resource.Resource) ([]resource.Resource, error) {
	first := make(map[string]int, len(all))
	reported := map[string]bool{}
	var problems []string
	kept := make([]resource.Resource, 0, len(all))
	for _, r := range all {
		key := resource.Key(r.Unstructured)
		at, ok := first[key]
		switch {
		case !ok:
			first[key] = len(kept)
			kept = append(kept, r)
		case !reported[key] && !reflect.DeepEqual(kept[at].Object, r.Object):
			reported[key] = true
			problems = append(problems,
				fmt.Sprintf("Found resource '%s' multiple times with different content",
					resource.Describe(r.Unstructured)))
		}
	}
	return kept, joinProblems("Uniqueness", problems)
}

// setNonce sets a new nonce in an object that has the annotation for it.
func (p Preparation) setNonce(obj *unstructured.Unstructured) error {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	value, ok := annotations[resource.AnnNonce]
	if !ok {
		return nil
	}
	if value != nil && value != "" {
		return fmt.Errorf("Expected annotation '%s' on resource '%s' to have value ''", resource.AnnNonce,
			resource.Describe(obj))
	}
	annotations[resource.AnnNonce] = resource.Nonce(p.Now)
	return nil
}

// CheckLabels returns an error for objects with the label of app records.
func CheckLabels(objects []*unstructured.Unstructured) error {
	var problems []string
	for _, obj := range objects {
		labels, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "labels")
		if entries, _ := labels.(map[string]any); entries != nil {
			if _, ok := entries[resource.LabelIsApp]; ok {
				problems = append(problems,
					fmt.Sprintf("Resource '%s' has a disallowed label '%s'", resource.Describe(obj),
						resource.LabelIsApp))
			}
		}
	}
	return joinProblems("Disallowed labels", problems)
}
