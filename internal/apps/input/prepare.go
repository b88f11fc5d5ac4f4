package input

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/apps/resource"
)

// Preparation is what objects are checked against, and what they are completed with.
type Preparation struct {
	Namespace string   // of namespaced objects that name none; empty leaves them without
	IntoNs    string   // of all namespaced objects, whatever they name; empty changes nothing
	MapNs     []string // "from=to", applied last; if there are any, every namespace has to be among them

	AllowCheck   bool     // Allowed checks; else it allows everything
	AllowNs      []string // namespaces that are allowed besides Namespace, IntoNs and those that MapNs leads to
	AllowAllNs   bool     // all namespaces are allowed, if AllowNs is empty
	AllowCluster bool     // objects without a namespace are allowed

	// Kinds tells whether the cluster knows a kind, and whether objects of it have a namespace. It is asked once for each kind
	// that the objects do not define themselves.
	Kinds func(schema.GroupVersionKind) (namespaced, known bool, err error)
	// Now is the value of nonces.
	Now time.Time
}

// Run checks objects and completes them, in place. It gives them in their order, without those that are described twice
// in the same way. The errors are those of kapp.
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
	if all, err = removeDuplicates(all); err != nil { // objects of two namespaces may have come into one
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

// list joins problems under a title, or gives nil if there are none.
func joinProblems(title string, problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%s errors:\n- %s", title, strings.Join(problems, "\n- "))
}

// validate looks for what identifies objects, and for values of their metadata that would pass for missing.
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

// isStringMap reports whether a value is a map of strings, of which some may be missing, or is missing itself.
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

// unique leaves out objects that are there before with the same content.
func removeDuplicates(all []resource.Resource) ([]resource.Resource, error) {
	first := make(map[string]int, len(all))
	told := map[string]bool{}
	var problems []string
	kept := make([]resource.Resource, 0, len(all))
	for _, r := range all {
		key := resource.Key(r.Unstructured)
		at, ok := first[key]
		switch {
		case !ok:
			first[key] = len(kept)
			kept = append(kept, r)
		case !told[key] && !reflect.DeepEqual(kept[at].Object, r.Object):
			told[key] = true
			problems = append(problems, fmt.Sprintf("Found resource '%s' multiple times with different content", resource.Describe(r.Unstructured)))
		}
	}
	return kept, joinProblems("Uniqueness", problems)
}

// stamp gives an object that asks for it a new nonce.
func (p Preparation) setNonce(obj *unstructured.Unstructured) error {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	value, ok := annotations[resource.AnnNonce]
	if !ok {
		return nil
	}
	if value != nil && value != "" {
		return fmt.Errorf("Expected annotation '%s' on resource '%s' to have value ''", resource.AnnNonce, resource.Describe(obj))
	}
	annotations[resource.AnnNonce] = strconv.FormatInt(p.Now.UnixNano(), 10)
	return nil
}

// CheckLabels refuses objects that carry the label of the records of apps, whether they are given or exist.
func CheckLabels(objects []*unstructured.Unstructured) error {
	var problems []string
	for _, obj := range objects {
		labels, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "labels")
		if entries, _ := labels.(map[string]any); entries != nil {
			if _, ok := entries[resource.LabelIsApp]; ok {
				problems = append(problems, fmt.Sprintf("Resource '%s' has a disallowed label '%s'", resource.Describe(obj), resource.LabelIsApp))
			}
		}
	}
	return joinProblems("Disallowed labels", problems)
}
