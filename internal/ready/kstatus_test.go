package ready

import (
	"os"
	"strings"
	"testing"
)

// likeNatively are the states in which an object is judged as by the native commands and not as by
// kstatus, with the reasons: docs/compat-kpt.md lists them.
var likeNatively = map[string]string{
	"crontab-ready-of-earlier-generation":         "the condition is about another specification",
	"crontab-ready-of-earlier-generation-decimal": "the condition is about another specification",
	"crontab-reconciling-of-earlier-generation":   "the condition is about another specification",
	"crontab-stalled-not-observed":                "the condition is about this specification",
	"crontab-stalled-of-earlier-generation":       "the condition is about another specification",
	"crontab-synced-of-earlier-generation":        "the condition is about another specification",
	"pod-ready-of-earlier-generation":             "the condition is about another specification",
	"daemonset-on-delete":                         "the controller does not update its pods",
	"deployment-paused-after-deadline-available":  "a paused rollout makes no progress",
	"customresourcedefinition-names-unchecked":    "its conditions are about earlier names",
	"customresourcedefinition-short-name-refused": "the server serves it",
	"deployment-paused-available":                 "a paused rollout makes no progress",
	"deployment-paused-in-broken-rollout":         "a paused rollout makes no progress",
	"deployment-paused-in-rollout":                "a paused rollout makes no progress",
	"deployment-paused-in-rollout-of-recreate":    "a paused rollout makes no progress",
	"deployment-paused-in-rollout-with-surge":     "a paused rollout makes no progress",
	"deployment-paused-of-earlier-revisions":      "a paused rollout makes no progress",
	"deployment-paused-when-created":              "a paused rollout makes no progress",
	"deployment-paused-zero":                      "a paused rollout makes no progress",
	"deployment-zero-not-observed":                "no controller has seen it",
	"replicaset-zero-not-observed":                "no controller has seen it",
	"statefulset-zero-not-observed":               "no controller has seen it",
	"statefulset-less-available":                  "minReadySeconds have not passed",
	"job-failing":                                 "a Job is waited for until it is complete",
	"job-running":                                 "a Job is waited for until it is complete",
	"job-success-criteria-met":                    "a Job is waited for until it is complete",
	"job-suspend-not-observed":                    "a Job is waited for until it is complete",
	"job-suspended":                               "it does not start",
	"persistentvolumeclaim-lost":                  "it will not be bound again",
	"pod-deadline-exceeded":                       "it will never run",
	"pod-evicted":                                 "it will never run",
	"pod-failed":                                  "it will never run",
	"pod-init-crash-loop":                         "it will hardly run",
	"pod-unschedulable":                           "a node may come",
	"pod-unschedulable-without-message":           "a node may come",
	"service-no-address":                          "nobody can reach it",
}

// TestLikeKstatus compares the statuses of all states with those that kstatus computes.
func TestLikeKstatus(t *testing.T) {
	text, err := os.ReadFile("testdata/kstatus.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]State{}
	for line := range strings.Lines(string(text)) {
		if name, state, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			want[name] = State(state)
		}
	}
	for name, s := range states(t) {
		kstatus, ok := want[name]
		if !ok {
			t.Errorf("testdata/kstatus.txt has no line for %s", name)
		}
		if kstatus == "error" {
			continue
		}
		got := Of(s.obj, LikeKstatus()).State
		if likeNatively[name] != "" {
			kstatus = Of(s.obj).State
		}
		if got != kstatus {
			t.Errorf("%s: got %s, want %s", name, got, kstatus)
		}
	}
}
