package drift

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// custom returns a custom resource whose spec a person owns.
func custom(t *testing.T, spec, owned string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	err := utiljson.Unmarshal([]byte(`{"apiVersion": "example.com/v1", "kind": "Thing", `+
		`"metadata": {"name": "a", `+
		`"namespace": "n", "managedFields": [{"manager": "kubectl-edit", "operation": "Update", `+
		`"apiVersion": "example.com/v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": `+owned+
		`}}]}, "spec": `+spec+"}"), &obj.Object)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// A difference has its path and its route: those of many differences that are deep, or behind a
// long key, would be larger than the object by far.
func TestMemoryOfDifferences(t *testing.T) {
	const depth, count = 3_000, 10_000
	long, values := strings.Repeat("k", 50_000), map[string]int{}
	for i := range count {
		values[fmt.Sprint("v", i)] = 1
	}
	wide, _ := json.Marshal(map[string]any{long: values})
	for name, spec := range map[string]string{
		"deep": strings.Repeat(`{"b": 1, "a": `, depth) + "1" + strings.Repeat("}", depth),
		"wide": string(wide),
	} {
		t.Run(name, func(t *testing.T) {
			for kind, spec := range map[string][2]string{
				"changed": {strings.ReplaceAll(spec, "1", "2"), spec}, "added": {`{"c": 1}`, spec},
			} {
				want, live := custom(t, spec[0], "{}"), custom(t, spec[1], "{}")
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				found, err := Compare(want, live, Options{})
				if runtime.ReadMemStats(&after); err != nil || found == nil || !found.Counts() {
					t.Errorf("%s: got %v, %v", kind, found, err)
				}
				const most = 200 << 20
				if took := after.TotalAlloc - before.TotalAlloc; took > most {
					t.Errorf("%s: the comparison took %d MiB", kind, took>>20)
				}
			}
		})
	}
}

// The time of a comparison must not grow with the square of the length of a list.
func TestTimeOfLongLists(t *testing.T) {
	long := func(count int, item, owned string, from int) (spec, fields string) {
		items, owns := make([]string, count), make([]string, count)
		for i := range count {
			items[i] = fmt.Sprintf(item, count-i+from, i)
			owns[i] = fmt.Sprintf(owned, count-i+from)
		}
		return `{"list": [` + strings.Join(items, ",") + "]}",
			`{"f:list": {` + strings.Join(owns, ",") + "}}"
	}
	const keyed, ownedByKey = `{"name": "n%d", "v": %d}`,
		`"k:{\"name\":\"n%d\"}": {".": {}, "f:name": {}, "f:v": {}}`
	for name, list := range map[string]struct{ item, owned string }{
		"by key":   {keyed, ownedByKey},
		"by value": {`"v%d-%.0d"`, `"v:\"v%d-\"": {}`},
	} {
		t.Run(name, func(t *testing.T) {
			took := func(count int) time.Duration {
				spec, fields := long(count, list.item, list.owned, 0)
				other, _ := long(count, list.item, list.owned, count/2)
				want, none, live := custom(t, other, "{}"), custom(t, "{}", "{}"), custom(t, spec, fields)
				begin := processorTime()
				for _, want := range []*unstructured.Unstructured{want, none} {
					if found, err := Compare(want, live, Options{}); err != nil || found == nil {
						t.Fatal(found, err)
					}
				}
				return processorTime() - begin
			}
			short, long := took(500), took(8_000)
			if long > 80*short+200*time.Millisecond {
				t.Errorf("500 items take %v, 8,000 take %v", short, long)
			}
		})
	}
}

// processorTime returns the time that the process has spent in its own code.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano())
}
