package judge

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// sequence is what a server has of an object, one state after the other, from a write on until the
// controllers are done with it. The sequences of testdata are written after the source of the
// controllers, where a plane does not go through them: see TestRollouts for those that are
// recorded.
type sequence struct {
	Name   string
	Object map[string]any
	Fails  bool // in the last state
	States []struct {
		Generation  int64          // 0 leaves that of before, as a missing part does
		Annotations map[string]any // of a controller
		Spec        map[string]any
		Status      map[string]any // its conditions by type, each as "STATUS REASON"
		Children    []map[string]any
	}
}

// TestSequences judges every state of the sequences of testdata: done is the last one alone.
func TestSequences(t *testing.T) {
	for name, sequences := range readSequences(t) {
		for _, s := range sequences {
			t.Run(name+"/"+s.Name, func(t *testing.T) {
				for i, state := range s.objects(t) {
					j, last := Of(state[0], state[1:]), i == len(s.States)-1
					if j.Done != last || j.Successful != (last && !s.Fails) {
						t.Errorf("state %d of %d is judged done %t, successful %t: %s\n%v", i+1,
							len(s.States), j.Done, j.Successful, j.Message, state[0].Object["status"])
					}
				}
			})
		}
	}
}

func TestEveryKindHasStates(t *testing.T) {
	found := map[string]bool{}
	for _, sequences := range readSequences(t) {
		for _, s := range sequences {
			found[fmt.Sprint(s.Object["kind"])] = true
		}
	}
	for _, k := range kinds {
		recorded, err := filepath.Glob("testdata/rollouts/" + strings.ToLower(k.name) + "*.txtar")
		if !found[k.name] && len(recorded) == 0 {
			t.Errorf("testdata has no sequence and no rollout of %s: %v", k.name, err)
		}
	}
}

// readSequences returns the sequences of testdata, by file.
func readSequences(t *testing.T) map[string][]sequence {
	t.Helper()
	paths, err := filepath.Glob("testdata/sequences/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]sequence{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var sequences []sequence
		if err := yaml.UnmarshalStrict(data, &sequences); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[strings.TrimSuffix(filepath.Base(path), ".yaml")] = sequences
	}
	return all
}

// objects returns the object of every state, with its children behind it.
func (s sequence) objects(t *testing.T) [][]*unstructured.Unstructured {
	t.Helper()
	var states [][]*unstructured.Unstructured
	var children []map[string]any
	meta, _ := s.Object["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["name"], meta["namespace"] = "a", "demo"
	s.Object["metadata"] = meta
	for _, state := range s.States {
		if state.Generation != 0 {
			meta["generation"] = state.Generation
		}
		if state.Annotations != nil {
			meta["annotations"] = state.Annotations
		}
		if state.Spec != nil {
			s.Object["spec"] = state.Spec
		}
		if state.Status != nil {
			state.Status["conditions"] = listed(state.Status["conditions"])
			s.Object["status"] = state.Status
		}
		if state.Children != nil {
			children = state.Children
		}
		objects := []*unstructured.Unstructured{decoded(t, s.Object)}
		for _, child := range children {
			objects = append(objects, decoded(t, child))
		}
		states = append(states, objects)
	}
	return states
}

// listed returns conditions as objects list them.
func listed(conditions any) []any {
	byType, _ := conditions.(map[string]any)
	list := []any{}
	for name, value := range byType {
		status, reason, _ := strings.Cut(fmt.Sprint(value), " ")
		list = append(list, map[string]any{"type": name, "status": status, "reason": reason})
	}
	return list
}

// decoded returns an object with numbers as a client of the API server sees them.
func decoded(t *testing.T, fields map[string]any) *unstructured.Unstructured {
	t.Helper()
	data, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return obj
}
