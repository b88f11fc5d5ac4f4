package change

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/compat/kapp/textdiff"
	"github.com/muster-deploy/muster/internal/sets/app/lastapplied"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestDeployments runs deployments one after the other, with the rules and the history of kapp,
// against a server that stores what it gets. The sections of an archive are deployed in the order
// of their names; "N.server.yaml" is merged into objects of the same key after deployment N, as if
// a controller had written it; "config.yaml" are more rules.
func TestDeployments(t *testing.T) {
	golden.Run(
		t,
		"testdata/real/*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			conf := configOf(t, files["config.yaml"])
			s := &server{t: t, conf: conf, exact: strings.Contains(files["options"], "exact")}
			out := map[string]string{}
			for n := 1; ; n++ {
				text, found := files[fmt.Sprintf("%d.yaml", n)]
				if !found {
					return out
				}
				out[fmt.Sprintf("%d", n)] = s.deploy(decode(t, text))
				for _, obj := range decode(t, files[fmt.Sprintf("%d.server.yaml", n)]) {
					s.touch(obj)
				}
			}
		},
	)
}

// server holds the objects of one app.
type server struct {
	t       *testing.T
	conf    *config.Config
	exact   bool
	objects []*unstructured.Unstructured
	version int
}

// deploy returns the differences and the rows of a deployment and carries it out.
func (s *server) deploy(input []*unstructured.Unstructured) string {
	s.t.Helper()
	for _, obj := range input {
		labels := map[string]string{
			resource.LabelApp:         "1",
			resource.LabelAssociation: resource.Association(resource.Key(obj)),
		}
		if err := s.conf.AddOwnershipLabels(obj, labels); err != nil {
			s.t.Fatal(err)
		}
	}
	o := Options{Wait: true}
	if !s.exact {
		o.LastApplied = func(live *unstructured.Unstructured) (*unstructured.Unstructured, bool) {
			return lastapplied.Base(live, s.conf)
		}
	}
	changes, err := Calculate(s.objects, input, s.conf, o)
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	masker := NewMasker(s.conf)
	for _, c := range changes {
		before, after, err := c.Texts(masker)
		if err != nil {
			s.t.Fatal(err)
		}
		fmt.Fprintf(&out, "@@ %s %s @@\n", c.ApplyOp().Word(), c.Description())
		if err := textdiff.Write(&out, textdiff.Compare(before, after, false),
			textdiff.Format{Context: 2, Numbers: true}); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, c := range changes {
		row := c.Row()
		fmt.Fprintf(
			&out,
			"%s  %s  %s  op %s, wait to %s, %s\n",
			row.Namespace,
			row.Name,
			row.Kind,
			row.Op,
			row.WaitTo,
			row.State,
		)
		s.apply(c)
	}
	op, wait := Summary(changes)
	return out.String() + "Op:      " + op + "\nWait to: " + wait + "\n"
}

func (s *server) apply(c *Change) {
	s.t.Helper()
	switch c.ApplyOp() {
	case Delete:
		s.store(c.Existing, nil)
	case Add, Update:
		sent, err := lastapplied.Annotate(c.Applied, c.New, c.Existing, s.conf)
		if err != nil {
			s.t.Fatal(err)
		}
		stored := s.store(c.Existing, sent)
		amended, err := amend(stored, c.New, s.conf)
		if err != nil {
			s.t.Fatal(err)
		}
		if amended != nil {
			s.store(stored, amended)
		}
	}
}

// store puts an object in the place of another, either of which may be nil.
func (s *server) store(old, obj *unstructured.Unstructured) *unstructured.Unstructured {
	var kept []*unstructured.Unstructured
	for _, there := range s.objects {
		if old == nil || resource.Key(there) != resource.Key(old) {
			kept = append(kept, there)
		}
	}
	s.objects = kept
	if obj == nil {
		return nil
	}
	s.version++
	obj = obj.DeepCopy()
	if obj.GetUID() == "" {
		unstructured.SetNestedField(obj.Object, fmt.Sprintf("uid-%d", s.version), "metadata", "uid")
		unstructured.SetNestedField(obj.Object, "2026-03-01T10:00:00Z", "metadata", "creationTimestamp")
	}
	obj.SetResourceVersion(fmt.Sprint(s.version))
	s.objects = append(s.objects, obj)
	return obj
}

// touch merges fields into the object of the same key.
func (s *server) touch(patch *unstructured.Unstructured) {
	s.t.Helper()
	for _, obj := range s.objects {
		if resource.Key(obj) == resource.Key(patch) {
			merge(obj.Object, patch.Object)
			return
		}
	}
	s.t.Fatalf("there is no %s", resource.Describe(patch))
}

func merge(into, from map[string]any) {
	for key, value := range from {
		inner, ok := value.(map[string]any)
		if there, both := into[key].(map[string]any); ok && both {
			merge(there, inner)
		} else {
			into[key] = value
		}
	}
}

// amend returns the second write of an object that the server has stored.
func amend(
	stored, applied *unstructured.Unstructured,
	rules *config.Config,
) (*unstructured.Unstructured, error) {
	sum, err := lastapplied.Fingerprint(stored, applied, rules)
	if err != nil {
		return nil, err
	}
	return lastapplied.Correction(stored, applied, sum, rules)
}
