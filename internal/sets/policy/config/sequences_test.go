package config

import (
	"fmt"
	"testing"
)

// TestWaitSequences judges every state of objects with wait rules, from a write on: only the last
// one is done. Those of before the write have the generation or the conditions of before.
func TestWaitSequences(t *testing.T) {
	const (
		ready   = `{type: Ready, status: "True"}`
		unready = `{type: Ready, status: "False"}`
		failed  = `{type: Failed, status: "True"}`
		moving  = `{type: Progressing, status: "True"}`
	)
	of := func(condition string, generation int) string {
		return fmt.Sprintf("%s, observedGeneration: %d}", condition[:len(condition)-1], generation)
	}
	for _, tc := range []struct {
		name   string
		rule   string
		states []string // the status, of generation 2
	}{
		{"the generation of the status",
			`supportsObservedGeneration: true, conditionMatchers: [
			{type: Failed, status: "True", failure: true}, {type: Ready, status: "True", success: true}]`,
			[]string{"{}", "{observedGeneration: 1, conditions: [" + failed + "]}",
				"{observedGeneration: 1, conditions: [" + ready + "]}",
				"{observedGeneration: 2, conditions: [" + unready + "]}",
				"{observedGeneration: 2, conditions: [" + ready + "]}"}},
		{"the generation of a condition",
			`conditionMatchers: [{type: Failed, status: "True", failure: true, supportsObservedGeneration: true},
			{type: Ready, status: "True", success: true, supportsObservedGeneration: true}]`,
			[]string{"{}", "{conditions: [" + of(ready, 1) + "]}", "{conditions: [" + ready + "]}",
				"{conditions: [" + of(failed, 1) + "," + of(unready, 2) + "]}",
				"{observedGeneration: 2, conditions: [" + of(ready, 1) + "]}",
				"{conditions: [" + of(ready, 2) + "]}"}},
		{"a condition with a timeout that holds beside success",
			`conditionMatchers: [{type: Progressing, status: "True", timeout: 5m},
			{type: Ready, status: "True", success: true}]`,
			[]string{"{}", "{conditions: [" + moving + "]}",
				"{conditions: [" + ready + "," + moving + "]}", "{conditions: [" + ready + "]}"}},
		{"a failure that may last for a time",
			`conditionMatchers: [{type: Failed, status: "True", failure: true, timeout: 5m},
			{type: Ready, status: "True", success: true}]`,
			[]string{"{}", "{conditions: [" + failed + "]}", "{conditions: [" + ready + "]}"}},
		{"a timeout of before",
			`conditionMatchers: [
			{type: Failed, status: "True", timeout: 5m, supportsObservedGeneration: true},
			{type: Ready, status: "True", success: true}]`,
			[]string{"{conditions: [" + of(failed, 1) + "]}", "{conditions: [" + of(failed, 2) + "]}",
				"{conditions: [" + ready + "]}"}},
		{"others need not wait for success",
			`conditionMatchers: [{type: Progressing, status: "True", unblockChanges: true},
			{type: Ready, status: "True", success: true}]`,
			[]string{"{}", "{conditions: [" + moving + "]}", "{conditions: [" + ready + "]}"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := configured(t, map[string]string{"config.yaml": `
apiVersion: kapp.k14s.io/v1alpha1
kind: Config
waitRules: [{resourceMatchers: [{allMatcher: {}}], ` + tc.rule + "}]"})
			for i, status := range tc.states {
				obj := decode(t, "{apiVersion: example.com/v1, kind: A, "+
					"metadata: {name: a, generation: 2}, status: "+status+"}")[0]
				last := i == len(tc.states)-1
				if j, _, ok := c.Judge(obj); !ok || j.Done != last || j.Successful != last {
					t.Errorf("%s is judged done %t, successful %t: %s", status, j.Done, j.Successful,
						j.Message)
				}
			}
		})
	}
}
