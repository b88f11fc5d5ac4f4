package deploy

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-deploy/muster/internal/compat/kapp/change"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/app/lastapplied"
)

// mergeByServer lets the server merge the object of a step, which is an update, into the live one.
func (r *Run) mergeByServer(step *plan.Step, c *change.Change) (err error) {
	step.FullReplace = false
	if step.Want, err = serverSideObject(c, step.Want); err != nil {
		return err
	}
	stale := plan.Others{StaleData: diff.StaleStringData(step.Have, step.Want, app.Manager)}
	step.Disown = stale.Removal(step.Have, step.Want)
	step.Obstacles, err = obstacles(c, nil)
	return err
}

// obstacles returns what is in the way of the server-side apply of a change. Maps are those that
// the server accepts with one field only.
func obstacles(c *change.Change, maps []string) ([]diff.ContestedField, error) {
	return plan.Obstacles(diff.Comparison{
		Want: c.New, Live: c.Existing, Base: lastapplied.Original(c.Existing), Manager: app.Manager,
		Operation: metav1.ManagedFieldsOperationApply, TooMany: maps,
	}, sets.New(app.Manager))
}

// serverSideObject returns the object that the server merges into the live object of an update,
// with the record of what was applied.
func serverSideObject(
	c *change.Change, becomes *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	sent, err := c.ApplyConfiguration()
	if err != nil {
		return nil, err
	}
	// The manager must own the data: the server removes no stringData.
	sent = diff.WithEncodedData(diff.WithoutIgnored(sent))
	return lastapplied.CopyAnnotations(becomes, sent), nil
}

// serverSideMerge returns a live object after the server has merged an input into it: fields that
// were applied last and are not desired any more are removed, fields of others stay.
func serverSideMerge(
	live, before, want *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	owners := before.GetManagedFields()
	before, want = before.DeepCopy(), want.DeepCopy()
	before.SetManagedFields(nil)
	want.SetManagedFields(nil)
	recorded := lastapplied.Original(live)
	var emptied [][]string
	if recorded != nil {
		emptied = addEmptyMaps(nil, want.Object, recorded.Object)
	}
	recorded = diff.WithFormerNames(recorded, want, before)
	_, becomes, err := diff.ThreeWay(recorded, want, before)
	if err != nil {
		return nil, err
	}
	becomes = becomes.DeepCopy()
	for _, path := range emptied {
		if left, _, _ := unstructured.NestedMap(becomes.Object, path...); len(left) == 0 {
			unstructured.RemoveNestedField(becomes.Object, path...)
		}
	}
	becomes.SetManagedFields(owners)
	return becomes, nil
}

// addEmptyMaps adds to the desired object, in place, the recorded maps that it lacks, without their
// fields: a map is not removed as a whole, since others may have fields in it. It returns the paths
// of these maps, the inner ones first.
func addEmptyMaps(path []string, want, recorded map[string]any) (paths [][]string) {
	for key, value := range recorded {
		fields, isMap := value.(map[string]any)
		there, has := want[key]
		inner, _ := there.(map[string]any)
		if !isMap || has && inner == nil {
			continue
		}
		here := append(slices.Clone(path), key)
		if !has {
			inner = map[string]any{}
			want[key] = inner
		}
		paths = append(paths, addEmptyMaps(here, inner, fields)...)
		if !has {
			paths = append(paths, here)
		}
	}
	return paths
}
