package packages

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/sets/policy/filter"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// annotatedPackage opens a package of ConfigMaps with annotations, in the form "NAME KEY: VALUE".
func annotatedPackage(t *testing.T, objects ...string) *Package {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "resourcegroup.yaml"), string(groupAt().Text()))
	for _, text := range objects {
		name, annotation, _ := strings.Cut(text, " ")
		if annotation != "" {
			annotation = "\n  annotations:\n    " + strings.ReplaceAll(annotation, "; ", "\n    ")
		}
		writeFile(t, filepath.Join(dir, name+".yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata:\n"+
			"  name: "+name+"\n  namespace: n"+annotation+"\ndata: {key: value}\n")
	}
	p, err := Open(t.Context(), Input{Folder: dir})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// bothOptions honour the annotations of kapp.
var bothOptions = policy.Options{
	FieldManager: policy.DefaultManager, AppAnnotations: true, Recreation: true,
}

// prepared prepares an apply and returns the error of its plan.
func prepared(
	t *testing.T, c testCluster, p *Package, o policy.Options,
) (*operation.Operation, error) {
	t.Helper()
	desired, err := p.Resolve(t.Context(), c, Scope{Namespace: "n"})
	if err != nil {
		t.Fatal(err)
	}
	op, err := PrepareApply(t.Context(), c, p.Inventory, desired, operation.ApplyOptions{
		Options: o, Definition: operation.RequireDefinition, Notice: func(string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return op, op.MakePlan(t.Context())
}

// stepOf returns the step of a ConfigMap and its position.
func stepOf(t *testing.T, p *plan.Plan, name string) (int, *plan.Step) {
	t.Helper()
	i := slices.IndexFunc(p.Steps, func(s plan.Step) bool { return s.Ref.Name == name })
	if i < 0 {
		t.Fatalf("no step for %s", name)
	}
	return i, &p.Steps[i]
}

// Change groups and rules order objects, also with placeholders and suffixes and by the groups of
// kinds, in one graph with depends-on.
func TestChangeRules(t *testing.T) {
	c := newTestCluster()
	p := annotatedPackage(t,
		"a kapp.k14s.io/change-rule.x: upsert after upserting example.com/{kind}",
		`z kapp.k14s.io/change-group.1: "example.com/{kind}"; `+
			"config.kubernetes.io/depends-on: /namespaces/n/ConfigMap/m",
		"m", "b kapp.k14s.io/change-rule: upsert before upserting example.com/ConfigMap")
	op, err := prepared(t, c, p, bothOptions)
	if err != nil {
		t.Fatal(err)
	}
	z, last := stepOf(t, op.Plan(), "z")
	m, _ := stepOf(t, op.Plan(), "m")
	b, _ := stepOf(t, op.Plan(), "b")
	a, first := stepOf(t, op.Plan(), "a")
	if !slices.Equal(last.Needs, slices.Sorted(slices.Values([]int{m, b}))) ||
		!slices.Equal(first.Needs, []int{z}) || a < z {
		t.Errorf("plan:\n%s", op.Plan())
	}
	if op, err = prepared(t, c, p, policy.Options{FieldManager: policy.DefaultManager}); err != nil {
		t.Fatal(err)
	}
	if _, step := stepOf(t, op.Plan(), "a"); len(step.Needs) > 0 {
		t.Errorf("kpt live honours the annotations of kapp:\n%s", op.Plan())
	}
}

// Cycles of rules and dependencies, invalid rules, and rules that packages cannot honour are errors
// that name the objects and their files.
func TestChangeRuleErrors(t *testing.T) {
	for name, test := range map[string]struct {
		objects []string
		want    []string
	}{
		"cycle": {
			[]string{"a kapp.k14s.io/change-group: x; config.kubernetes.io/depends-on: " +
				"/namespaces/n/ConfigMap/b", "b kapp.k14s.io/change-rule: upsert after upserting x"},
			[]string{"cyclic dependency:", "n/configmap/a (a.yaml) -> n/configmap/b",
				"n/configmap/b (b.yaml) -> n/configmap/a"},
		},
		"invalid": {
			[]string{"a kapp.k14s.io/change-rule: upsert eventually"},
			[]string{"a.yaml", "configmap/a", "annotation kapp.k14s.io/change-rule",
				"\"upsert eventually\" is not a change rule"},
		},
		"deletion first": {
			[]string{"a kapp.k14s.io/change-rule: upsert after deleting old"},
			[]string{"a.yaml", "configmap/a", "until n/configmap/old is deleted",
				"remove the rule"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newTestCluster()
			old := annotatedPackage(t, "old kapp.k14s.io/change-group: old")
			op, err := prepared(t, c, old, bothOptions)
			if err == nil {
				_, err = run(t, op)
			}
			if err != nil {
				t.Fatal(err)
			}
			_, err = prepared(t, c, annotatedPackage(t, test.objects...), bothOptions)
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("err = %v, want %q", err, want)
				}
			}
		})
	}
}

// A plan has a list of all objects that one waits for, so that two groups of some thousand objects
// would take all memory. They are refused before.
func TestTooManyChangeRules(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it is concurrent")
	}
	objects := make([]string, 0, 2_002)
	for i := range 1_001 {
		objects = append(objects, fmt.Sprintf("a%d %s: g", i, resource.AnnChangeGroup))
	}
	for i := range 1_001 {
		objects = append(objects,
			fmt.Sprintf("b%d %s: upsert after upserting g", i, resource.AnnChangeRule))
	}
	const want = "change rules let objects wait for others more than 1000000 times"
	_, err := prepared(t, newTestCluster(), annotatedPackage(t, objects...), bothOptions)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("1,001 objects wait for as many others: err = %v", err)
	}
	p := annotatedPackage(t, objects[:1_011]...)
	if _, err = prepared(t, newTestCluster(), p, bothOptions); err != nil {
		t.Errorf("10 objects wait for 1,001 others: err = %v", err)
	}
}

// Rules of live objects order their deletion.
func TestChangeRulesOfDeletions(t *testing.T) {
	c := newTestCluster()
	op, err := prepared(t, c, annotatedPackage(t,
		"z kapp.k14s.io/change-rule: delete after deleting first",
		"a kapp.k14s.io/change-group: first"), bothOptions)
	if err == nil {
		_, err = run(t, op)
	}
	if err != nil {
		t.Fatal(err)
	}
	op, err = PrepareDestroy(c, groupAt(), operation.DestroyOptions{
		Options: policy.Options{AppAnnotations: true}, Notice: func(string) {},
	})
	if err == nil {
		err = op.MakePlan(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	a, _ := stepOf(t, op.Plan(), "a")
	if _, z := stepOf(t, op.Plan(), "z"); !slices.Equal(z.Needs, []int{a}) {
		t.Errorf("plan:\n%s", op.Plan())
	}
}

// The annotations of kapp for single objects have their effect on the plan.
func TestStrategies(t *testing.T) {
	c := newTestCluster()
	texts := []string{
		"skip kapp.k14s.io/update-strategy: skip",
		"always kapp.k14s.io/update-strategy: always-replace",
		"fallback kapp.k14s.io/update-strategy: fallback-on-replace",
		`silent kapp.k14s.io/disable-wait: ""`,
		`noop kapp.k14s.io/noop: ""`,
		"orphan kapp.k14s.io/delete-strategy: orphan",
	}
	op, err := prepared(t, c, annotatedPackage(t, texts...), bothOptions)
	if err != nil {
		t.Fatal(err)
	}
	if _, step := stepOf(t, op.Plan(), "silent"); step.Wait {
		t.Error("it is waited for")
	}
	if _, step := stepOf(t, op.Plan(), "noop"); step.Op != plan.Skip {
		t.Errorf("noop: %s", step.Op)
	}
	if _, err := run(t, op); err != nil {
		t.Fatal(err)
	}
	changed := annotatedPackage(t, texts[:3]...)
	for _, obj := range changed.Objects {
		obj.Object["data"] = map[string]any{"key": "other"}
	}
	if op, err = prepared(t, c, changed, bothOptions); err != nil {
		t.Fatal(err)
	}
	_, skip := stepOf(t, op.Plan(), "skip")
	_, always := stepOf(t, op.Plan(), "always")
	_, fallback := stepOf(t, op.Plan(), "fallback")
	_, orphan := stepOf(t, op.Plan(), "orphan")
	if skip.Op != plan.Skip || always.Replace != plan.ReplaceAlways || always.Recreate == nil ||
		fallback.Replace != plan.ReplaceImmutable || orphan.Op != plan.Orphan {
		t.Errorf("plan:\n%s", op.Plan())
	}
}

// An object that is always replaced and takes values from others is created again with them.
func TestAlwaysReplacedTakesValues(t *testing.T) {
	for _, serverSide := range []bool{false, true} {
		c := newTestCluster()
		texts := []string{"source",
			"taker kapp.k14s.io/update-strategy: always-replace; " +
				"config.kubernetes.io/apply-time-mutation: '[{sourceRef: {kind: ConfigMap, name: source}, " +
				"sourcePath: $.data.key, targetPath: $.data.key}]'"}
		o := bothOptions
		o.ServerSide = serverSide
		for _, value := range []string{"one", "two"} {
			p := annotatedPackage(t, texts...)
			for _, obj := range p.Objects {
				if obj.GetName() == "source" {
					obj.Object["data"] = map[string]any{"key": value}
				}
			}
			op, err := prepared(t, c, p, o)
			if err != nil {
				t.Fatalf("server-side %v: %v", serverSide, err)
			}
			if _, err := run(t, op); err != nil {
				t.Fatal(err)
			}
			live := c.Object(object.Ref{Kind: "ConfigMap", Namespace: "n", Name: "taker"})
			if got, _, _ := unstructured.NestedString(live.Object, "data", "key"); got != value {
				t.Errorf("server-side %v: got %q, want %q", serverSide, got, value)
			}
		}
	}
}

// An object that others create is waited for, holds back what depends on it, and is neither written
// nor recorded, although nothing says that the package owns it.
func TestExternal(t *testing.T) {
	c := newTestCluster()
	texts := []string{`given kapp.k14s.io/exists: ""`,
		"user config.kubernetes.io/depends-on: /namespaces/n/ConfigMap/given"}
	op, err := prepared(t, c, annotatedPackage(t, texts...), bothOptions)
	if err != nil {
		t.Fatal(err)
	}
	i, step := stepOf(t, op.Plan(), "given")
	if _, user := stepOf(t, op.Plan(), "user"); step.Op != plan.AwaitCreated || !step.Wait ||
		!slices.Equal(user.Needs, []int{i}) {
		t.Errorf("plan:\n%s", op.Plan())
	}
	given := testPackage(t, "given").Objects[0]
	given.SetNamespace("n")
	c.Put(given.Unstructured)
	for range 2 {
		if op, err = prepared(t, c, annotatedPackage(t, texts...), bothOptions); err != nil {
			t.Fatal(err)
		}
		c.Wrote = nil
		if _, err := run(t, op); err != nil {
			t.Fatal(err)
		}
		for _, write := range c.Wrote {
			if strings.Contains(write, "given") {
				t.Errorf("wrote %q", write)
			}
		}
	}
	refs := planned(t, c, testPackage(t)).Plan().Recorded
	if len(refs) != 1 || refs[0].Name != "user" {
		t.Errorf("record = %v", refs)
	}
	o := policy.Options{FieldManager: policy.DefaultManager}
	op, err = prepared(t, c, annotatedPackage(t, texts...), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, step := stepOf(t, op.Plan(), "given"); step.Op != plan.Skip {
		t.Errorf("kpt live honours the annotation:\n%s", op.Plan())
	}
	_, err = prepared(t, c, annotatedPackage(t, `user kapp.k14s.io/exists: ""`), bothOptions)
	if err == nil || !strings.Contains(err.Error(), "the set has deployed it and would delete it") {
		t.Errorf("an object of the package: err = %v", err)
	}
}

// An object with an empty nonce gets another one in each apply. A saved plan is the same with any.
func TestNonce(t *testing.T) {
	c := newTestCluster()
	o := bothOptions
	for i := range 2 {
		o.Now = time.Unix(int64(i)+1, 0)
		p := annotatedPackage(t, `a kapp.k14s.io/nonce: ""`, "b")
		op, err := prepared(t, c, p, o)
		if err != nil {
			t.Fatal(err)
		}
		saved, err := operation.SavePlan(t.Context(), c, op.Source("package", "n/inventory"))
		if err != nil {
			t.Fatal(err)
		}
		o.Now = o.Now.Add(time.Hour)
		if op, err = prepared(t, c, p, o); err == nil {
			err = compareSaved(t, c, saved, op)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, a := stepOf(t, op.Plan(), "a")
		_, b := stepOf(t, op.Plan(), "b")
		if i == 1 && (a.Op != plan.Update || b.Op != plan.Unchanged) {
			t.Errorf("plan:\n%s", op.Plan())
		}
		if _, err := run(t, op); err != nil {
			t.Fatal(err)
		}
		live := c.Object(object.Ref{Kind: "ConfigMap", Namespace: "n", Name: "a"})
		want := resource.Nonce(o.Now)
		if got := live.GetAnnotations()[resource.AnnNonce]; got != want {
			t.Errorf("nonce = %q, want %q", got, want)
		}
	}
}

// What packages cannot honour is an error that names the place and the way out.
func TestUnhonouredAnnotations(t *testing.T) {
	for text, want := range map[string]string{
		`a kapp.k14s.io/num-versions: "0"`:      `"0" must be a number of at least 1`,
		"a kapp.k14s.io/renew-duration: soon":   `"soon" must be a duration`,
		`a kapp.k14s.io/owned-for-deletion: ""`: "it is not honoured in packages",
		"a kapp.k14s.io/nonce: mine":            `"mine" must be empty`,
		"a kapp.k14s.io/delete-strategy: keep":  `"keep" is none of ["orphan"]`,
	} {
		err := annotatedPackage(t, text).CheckAppAnnotations()
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "a.yaml") || !strings.Contains(err.Error(), "configmap/a") {
			t.Errorf("%s: err = %v", text, err)
		}
	}
	p := testPackage(t, "a")
	p.Objects[0].SetAPIVersion("kapp.k14s.io/v1alpha1")
	p.Objects[0].SetKind("Config")
	err := p.CheckAppAnnotations()
	if err == nil || !strings.Contains(err.Error(), "a.yaml") ||
		!strings.Contains(err.Error(), "configuration of kapp") {
		t.Errorf("err = %v", err)
	}
}

// Objects that a filter does not select are neither applied nor pruned, and stay in the record.
func TestFilter(t *testing.T) {
	c := newTestCluster()
	if _, err := run(t, planned(t, c, testPackage(t, "old", "a"))); err != nil {
		t.Fatal(err)
	}
	o := policy.Options{
		FieldManager: policy.DefaultManager, Filter: filter.Flags{Names: []string{"new"}},
	}
	op := plannedWith(t, c, testPackage(t, "a", "b", "new"), o)
	c.Wrote = nil
	if _, err := run(t, op); err != nil {
		t.Fatal(err)
	}
	expectWrites(t, c, "replace "+recordName, "create n/configmap/new", "replace "+recordName)
	want := []string{"n/configmap/old", "n/configmap/a", "n/configmap/new"}
	var have []string
	for _, ref := range planned(t, c, testPackage(t)).Plan().Recorded {
		have = append(have, ref.String())
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("record = %v", have)
	}
}

// Versions of an object stay as many as its annotation says, in the record too; what depends on it
// depends on the version in use. Without pruning all stay.
func TestVersions(t *testing.T) {
	c := newTestCluster()
	dependent := "web config.kubernetes.io/depends-on: /namespaces/n/ConfigMap/a"
	apply := func(value string, o policy.Options) *plan.Plan {
		t.Helper()
		p := annotatedPackage(t,
			`a kapp.k14s.io/versioned: ""; kapp.k14s.io/num-versions: "2"; x: `+value, dependent)
		op, err := prepared(t, c, p, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run(t, op); err != nil {
			t.Fatal(err)
		}
		if op, err = prepared(t, c, p, o); err != nil {
			t.Fatal(err)
		}
		for _, step := range op.Plan().Steps {
			if step.Op.Writes() {
				t.Errorf("%s: planned again: %s", value, op.Plan())
			}
		}
		return op.Plan()
	}
	recorded := func(p *plan.Plan) string {
		var names []string
		for _, ref := range p.Recorded {
			names = append(names, ref.Name)
		}
		slices.Sort(names)
		return strings.Join(names, " ")
	}
	unpruned := bothOptions
	unpruned.NoPrune = true
	for _, tc := range []struct {
		value   string
		options policy.Options
		want    string
	}{
		{"one", bothOptions, "a-ver-1 web"},
		{"two", bothOptions, "a-ver-1 a-ver-2 web"},
		{"three", bothOptions, "a-ver-2 a-ver-3 web"},
		{"three", bothOptions, "a-ver-2 a-ver-3 web"},
		{"four", unpruned, "a-ver-2 a-ver-3 a-ver-4 web"},
	} {
		p := apply(tc.value, tc.options)
		if got := recorded(p); got != tc.want {
			t.Errorf("%s: recorded %s, want %s", tc.value, got, tc.want)
		}
		i, web := stepOf(t, p, "web")
		used, _ := stepOf(t, p, "a-ver-"+map[string]string{"one": "1", "two": "2", "three": "3",
			"four": "4"}[tc.value])
		if !slices.Contains(web.Needs, used) || used > i {
			t.Errorf("%s: web does not need the version in use:\n%s", tc.value, p)
		}
	}
}

// A run with a filter makes no versions of what it does not write, and what it writes refers to the
// version that exists.
func TestVersionsOfFilter(t *testing.T) {
	c := newTestCluster()
	dependent := "web config.kubernetes.io/depends-on: /namespaces/n/ConfigMap/a"
	versioned := `a kapp.k14s.io/versioned: ""; x: `
	op, err := prepared(t, c, annotatedPackage(t, versioned+"one", dependent), bothOptions)
	if err == nil {
		_, err = run(t, op)
	}
	if err != nil {
		t.Fatal(err)
	}
	o := bothOptions
	o.Filter = filter.Flags{Names: []string{"web"}}
	if op, err = prepared(t, c, annotatedPackage(t, versioned+"two", dependent), o); err != nil {
		t.Fatal(err)
	}
	if _, step := stepOf(t, op.Plan(), "a-ver-1"); step.ReasonCode != plan.ReasonExcluded {
		t.Errorf("plan:\n%s", op.Plan())
	}
	for _, step := range op.Plan().Steps {
		if step.Ref.Name == "a-ver-2" {
			t.Errorf("plan:\n%s", op.Plan())
		}
	}
}

// The content of an object with versions is known before its name.
func TestVersionedTakesNoValues(t *testing.T) {
	const takes = `[{"sourceRef": {"kind": "ConfigMap", "name": "given"}, ` +
		`"sourcePath": "$.data.key", "targetPath": "$.data.key"}]`
	p := annotatedPackage(t, "given",
		`a kapp.k14s.io/versioned: ""; `+policy.MutationKey+": '"+takes+"'")
	_, err := prepared(t, newTestCluster(), p, bothOptions)
	if err == nil || !strings.Contains(err.Error(), "configmap/a") ||
		!strings.Contains(err.Error(), "cannot take values from others") {
		t.Errorf("err = %v", err)
	}
}
