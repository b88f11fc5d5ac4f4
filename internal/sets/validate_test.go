package sets

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/builtin"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/openapi"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// describedCluster is a cluster in memory that has schemas.
type describedCluster struct {
	*enginetest.Cluster
	documents map[schema.GroupVersion]*openapi.Document
	broken    error // of the schemas
	refused   error // of reads
	accepts   bool  // dry runs
	old       bool  // it does not have all built-in fields

	asked []string
}

func (c *describedCluster) Kind(
	ctx context.Context, gk schema.GroupKind,
) (cluster.Kind, error) {
	if gk == builtin.Newest.GroupKind() && !c.old {
		return cluster.Kind{Served: []string{"v1"}}, nil
	}
	return cluster.Kind{}, &cluster.UnknownKindError{GroupKind: gk}
}

func (c *describedCluster) Read(
	ctx context.Context, targets []cluster.Target,
) (*cluster.Snapshot, error) {
	for _, t := range targets {
		c.asked = append(c.asked, "read "+t.Ref.Name)
	}
	if c.refused != nil {
		return nil, c.refused
	}
	return c.Cluster.Read(ctx, targets)
}

func (c *describedCluster) Schemas(
	_ context.Context, versions []schema.GroupVersion,
) (map[schema.GroupVersion]*openapi.Document, error) {
	for _, gv := range versions {
		c.asked = append(c.asked, "schemas of "+gv.String())
	}
	return c.documents, c.broken
}

func (c *describedCluster) Write(
	_ context.Context, w cluster.Write,
) (*unstructured.Unstructured, error) {
	c.asked = append(c.asked, fmt.Sprintf("dry run %t %s of %s", w.DryRun, w.FieldValidation,
		w.Object.GetName()))
	if c.accepts {
		return w.Object, nil
	}
	return nil, apierrors.NewBadRequest("strict decoding error: unknown field")
}

// plannedFor returns an operation that creates the objects of a text, unless the first line of a
// document says another operation: # update.
func plannedFor(t *testing.T, text string) *Operation {
	t.Helper()
	s := emitting(&plan.Plan{})
	s.Locked.Namespace = "home"
	for i, document := range strings.Split(text, "---\n") {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &obj.Object); err != nil {
			t.Fatal(err)
		}
		d := plan.Desired{Object: obj, Source: fmt.Sprintf("all.yaml:%d", i)}
		step := plan.Step{Ref: object.RefOf(obj), Op: plan.Create, Want: obj, Source: d.Source}
		if op, _, ok := strings.Cut(strings.TrimPrefix(document, "# "), "\n"); ok &&
			strings.HasPrefix(document, "# ") {
			step.Op, step.Have = plan.Op(op), obj
		}
		s.Described, s.Plan.Steps = append(s.Described, d), append(s.Plan.Steps, step)
	}
	return s
}

const (
	good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good, namespace: home}\n"
	bad  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad, namespace: home}\n" +
		"dta: {a: b}\nimmutable: \"yes\"\n"
	boat = "apiVersion: example.com/v1\nkind: Boat\nmetadata: {name: b, namespace: home}\n" +
		"spec: {length: 7, sial: red}\n"
	boats = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.com}
spec:
  group: example.com
  names: {kind: Boat}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {length: {type: integer}, sail: {type: string}}}
`
)

func documentsOf(t *testing.T) map[schema.GroupVersion]*openapi.Document {
	t.Helper()
	core, err := openapi.Parse([]byte(`{"components":{"schemas":{"ConfigMap":{"type":"object",
		"properties":{"apiVersion":{},"kind":{},"metadata":{},
		"data":{"type":"object","additionalProperties":{"type":"string"}},
		"immutable":{"type":"boolean"}},
		"x-kubernetes-group-version-kind":[{"group":"","version":"v1","kind":"ConfigMap"}]}}}}`), "", "v1")
	if err != nil {
		t.Fatal(err)
	}
	old := openapi.Definition(map[string]any{"spec": map[string]any{
		"names": map[string]any{"kind": "Boat"},
		"versions": []any{map[string]any{"name": "v1", "schema": map[string]any{
			"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
				"spec": map[string]any{"type": "object", "properties": map[string]any{
					"length": map[string]any{"type": "integer"},
				}},
			}},
		}}},
	}}, builtin.MetadataFields())["v1"]
	return map[schema.GroupVersion]*openapi.Document{
		{Version: "v1"}: core, {Group: "example.com", Version: "v1"}: old,
	}
}

func TestValidate(t *testing.T) {
	const (
		badFields = "configmap/bad (all.yaml:0): unknown field \"dta\"; did you mean data?\n" +
			"configmap/bad (all.yaml:0): the field \"immutable\" must be a boolean, not a string\n"
		elsewhere = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: far}\n"
	)
	away := func(name string) string { return strings.Replace(elsewhere, "x", name, 1) }
	namespace := "apiVersion: v1\nkind: Namespace\nmetadata: {name: far}\n"
	const absent = "the namespace far does not exist; add it to the set, or run: kubectl create " +
		"namespace far"
	const asks = "schemas of v1, dry run true Strict of bad"
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	for name, tc := range map[string]struct {
		set     string
		cluster describedCluster
		want    string
		asked   string
	}{
		"built-in kinds, without a request": {set: good},
		"an unchanged object":               {set: "# unchanged\n" + bad},
		"an unknown field":                  {set: bad, want: badFields, asked: asks},
		"an update":                         {set: "# update\n" + bad, want: badFields, asked: asks},
		"a server that accepts it": {set: bad, cluster: describedCluster{accepts: true},
			asked: asks},
		"an older server": {set: good, cluster: describedCluster{old: true}, asked: "schemas of v1"},
		"no schemas": {set: bad, cluster: describedCluster{broken: errors.New("broken")},
			want: badFields + "incomplete: broken\n", asked: asks},
		"a definition in the cluster": {set: boat,
			want:  "boat.example.com/b (all.yaml:0): unknown field \"spec.sial\"\n",
			asked: "schemas of example.com/v1, dry run true Strict of b"},
		"a definition in the set": {set: boat + "---\n" + "# update\n" + boats,
			want: "boat.example.com/b (all.yaml:0): unknown field \"spec.sial\"; did you mean sail?\n"},
		"a definition of others": {set: boat + "---\n" + "# skip\n" + boats,
			want:  "boat.example.com/b (all.yaml:0): unknown field \"spec.sial\"\n",
			asked: "schemas of example.com/v1, dry run true Strict of b"},
		"an absent namespace": {set: away("x") + "---\n" + good + "---\n" + away("z"),
			want:  "far/configmap/x (all.yaml:0): " + absent + " (1 more object is in it)\n",
			asked: "read far"},
		"a namespace in the set":    {set: away("x") + "---\n" + namespace},
		"a namespace that is known": {set: away("x") + "---\n# unchanged\n" + away("z")},
		"a namespace that leaves the set": {set: away("x") + "---\n# delete\n" + namespace,
			asked: "read far", want: "far/configmap/x (all.yaml:0): " + absent + "\n"},
		"namespaces that nobody may read": {set: away("x"), asked: "read far",
			cluster: describedCluster{refused: forbidden}},
		"namespaces that cannot be read": {set: away("x"), asked: "read far",
			cluster: describedCluster{refused: errors.New("broken")},
			want:    "error: look for the namespaces of the set: broken\n"},
		"objects that are not written elsewhere": {set: "# skip\n" + away("x")},
	} {
		t.Run(name, func(t *testing.T) {
			c := &tc.cluster
			c.Cluster, c.documents = &enginetest.Cluster{}, documentsOf(t)
			op := plannedFor(t, tc.set)
			if strings.HasPrefix(name, "a namespace that leaves") {
				op.Described = op.Described[:1]
			}
			found, err := Validate(t.Context(), c, op, true, nil)
			var got strings.Builder
			if err != nil {
				fmt.Fprintf(&got, "error: %v\n", err)
			} else {
				for _, p := range found.Problems {
					got.WriteString(strings.ReplaceAll(p.String(), "home/", "") + "\n")
				}
				if found.Incomplete != nil {
					fmt.Fprintf(&got, "incomplete: %v\n", found.Incomplete)
				}
			}
			if diff := cmp.Diff(tc.want, got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if asked := strings.Join(c.asked, ", "); asked != tc.asked {
				t.Errorf("asked for %q, want %q", asked, tc.asked)
			}
		})
	}
}

func TestValidateTheNamespaceOfTheRecord(t *testing.T) {
	c := &describedCluster{Cluster: &enginetest.Cluster{}}
	op := plannedFor(t, good)
	for _, tc := range []struct {
		locked, recorded, found bool
		leaving                 bool
		want                    string
	}{
		{locked: true}, {recorded: true}, {found: true},
		{want: "the namespace home does not exist; add it to the set, or run: kubectl create " +
			"namespace home"},
		{leaving: true, want: "the namespace home is being deleted; apply again when it is gone, with " +
			"the namespace in the set"},
	} {
		if tc.leaving {
			c.Put(&unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
					"name": "home", "deletionTimestamp": "2026-11-26T10:00:00Z", "finalizers": []any{"a"},
				},
			}})
		}
		op.Recorded = tc.recorded
		op.Plan.Namespaces = map[string]bool{"home": tc.found}
		found, err := Validate(t.Context(), c, op, tc.locked, nil)
		if err != nil {
			t.Fatal(err)
		}
		refused, _ := found.Err(true)
		got := ""
		if refused != nil {
			got = refused.Refused()[op.Plan.Steps[0].Ref]
		}
		if got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
	op = plannedFor(t, strings.Replace(good, "home", "far", 1))
	c.Remove(object.Ref{Kind: "Namespace", Name: "home"})
	c.Put(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "far"},
	}})
	found, err := Validate(t.Context(), c, op, false, nil)
	if err != nil || len(found.Problems) != 1 ||
		!strings.HasPrefix(found.Problems[0].Text, "it is the namespace of the record: ") {
		t.Errorf("%+v, %v", found, err)
	}
}

// The fields of a revision are no reason to refuse it; a list of problems is bounded.
func TestValidationErrors(t *testing.T) {
	v := &Validation{Problems: []Finding{{Field: "spec.x", Text: "unknown"}}}
	if refused, others := v.Err(true); refused != nil || len(others) != 1 {
		t.Errorf("%v, %v", refused, others)
	}
	if refused, others := v.Err(false); refused == nil || len(others) != 0 {
		t.Errorf("%v, %v", refused, others)
	}
	for range 2 * maxListed {
		v.Problems = append(v.Problems, v.Problems[0])
	}
	refused, _ := v.Err(false)
	if text := refused.Error(); !strings.HasSuffix(text, "\n- and 51 more") {
		t.Error(text)
	}
	if text := refused.Refused()[object.Ref{}]; !strings.HasPrefix(text, "unknown; unknown") {
		t.Error(text)
	}
}
