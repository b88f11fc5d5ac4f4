package muster

import (
	"strings"
	"testing"
	"time"
)

// TestIgnoreRules checks that options with a rule that covers what a set needs are refused.
func TestIgnoreRules(t *testing.T) {
	for path, want := range map[string]string{
		"/spec/replicas":                                        "",
		"/metadata/labels/tier":                                 "",
		"/metadata/labels":                                      "of the metadata only",
		"/metadata/labels/kapp.k14s.io~1app":                    "kapp.k14s.io/app marks",
		"/metadata/annotations/config.k8s.io~1owning-inventory": "owning-inventory marks",
		"/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration": "the record of",
	} {
		_, err := PlanOptions{Ignore: []IgnoreRule{{Paths: []string{path}}}}.options(time.Now())
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", path, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
