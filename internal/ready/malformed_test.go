package ready

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-deploy/muster/internal/object"
)

// malformed are values that no controller of Kubernetes writes.
var malformed = []any{
	nil, true, "", "-1", "9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "1e308", "{", "\xff\x1b[2J",
	int64(-1), int64(math.MaxInt64), int64(math.MinInt64), 1e308, math.Inf(1), math.NaN(),
	[]any{}, []any{nil, "x", []any{}}, map[string]any{}, map[string]any{"": nil},
}

// TestMalformed replaces values of objects at random: nothing panics, whatever controllers and
// others have written.
func TestMalformed(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var objects []*unstructured.Unstructured
	for _, s := range states(t) {
		objects = append(objects, s.obj)
	}
	paths, err := filepath.Glob("testdata/causes/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if strings.HasSuffix(f.Name, ".yaml") {
				objects = append(objects, documents(t, string(f.Data))...)
			}
		}
	}
	for range 10 {
		related, pods := NewRelatedObjects(), NewPodSet()
		var all []*unstructured.Unstructured
		for _, obj := range objects {
			obj = obj.DeepCopy()
			for range random.IntN(4) {
				obj.Object = mutated(random, obj.Object, 4).(map[string]any)
			}
			all = append(all, obj)
			related.Add(EvidenceOf(obj, Of(obj)))
			pods.Add(RunsOf(obj))
		}
		for _, obj := range all {
			examine(obj, related, pods)
		}
		for _, obj := range all {
			related.Delete(object.RefOf(obj))
			pods.Delete(object.RefOf(obj))
		}
	}
}

// examine calls all functions that read an object.
func examine(obj *unstructured.Unstructured, related *RelatedObjects, pods *PodSet) {
	s := Of(obj)
	s = StrictPod(obj, s)
	FactsOf(obj)
	RemovesItself(obj)
	IsRemovingItself(obj)
	Of(obj, LikeKstatus())
	if w := WorkloadOf(obj); w != nil {
		for _, now := range []time.Time{{}, time.Now(), time.Unix(math.MaxInt32, 0)} {
			w.NeedsPods(now)
			w.MayBeDisturbed(now)
			w.Trial(pods, now)
			w.FirstTrial(pods, now, now, now, time.Second)
		}
	}
	for _, state := range []State{s.State, InProgress, Failed} {
		related.Causes(EvidenceOf(obj, Status{State: state, Message: s.Message}), time.Now(), time.Now())
	}
}

// mutated returns a copy of a value in which one value is replaced, at most a number of levels deep
// if that is an object's root.
func mutated(random *rand.Rand, value any, least int) any {
	if least < 4 && random.IntN(4) == 0 {
		return runtime.DeepCopyJSONValue(malformed[random.IntN(len(malformed))])
	}
	switch value := value.(type) {
	case map[string]any:
		keys := make([]string, 0, len(value))
		for key := range value {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		if len(keys) > 0 {
			key := keys[random.IntN(len(keys))]
			value[key] = mutated(random, value[key], least-1)
		}
		return value
	case []any:
		if len(value) > 0 {
			i := random.IntN(len(value))
			value[i] = mutated(random, value[i], least-1)
		}
		return value
	}
	if least == 4 {
		return value
	}
	return runtime.DeepCopyJSONValue(malformed[random.IntN(len(malformed))])
}
