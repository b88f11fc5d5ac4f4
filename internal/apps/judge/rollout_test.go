package judge

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A watch sees every state of a rollout, also those that last for a moment. The states of the files
// are all that a server had of an object that was created and then got another image.
func TestRollouts(t *testing.T) {
	for name, done := range map[string][]int{ // the lines, from 0, of the states that are done
		"deployment":  {4, 16, 17},
		"statefulset": {5, 15},
		"daemonset":   {2, 6},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile("testdata/rollouts/" + name + ".jsonl")
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					obj := &unstructured.Unstructured{}
					if err := obj.UnmarshalJSON([]byte(line)); err != nil {
						t.Fatal(err)
					}
					if j := Of(obj, nil); j.Done != slices.Contains(done, i) || j.Done && !j.Successful {
						t.Errorf("judged done %t, successful %t: %s\n%s", j.Done, j.Successful, j.Message, line)
					}
				})
			}
		})
	}
}
