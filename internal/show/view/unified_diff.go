package view

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/yamltext"
)

// UnifiedDiff returns the difference of two objects as YAML, as a unified diff without file names;
// empty if they are equal. If one object is nil, all lines are added or removed. It hides nothing:
// see diff.Comparable.
func UnifiedDiff(before, after *unstructured.Unstructured) (string, error) {
	old, err := document(before)
	if err != nil {
		return "", err
	}
	new, err := document(after)
	if err != nil {
		return "", err
	}
	if before == nil || after == nil {
		return signed("-", old) + signed("+", new), nil
	}
	return UnifiedTexts(old, new), nil
}

// UnifiedTexts returns the difference of two texts as a unified diff without file names; empty if
// they are equal.
func UnifiedTexts(before, after []byte) string {
	text := string(diff.Diff("before", before, "after", after))
	_, hunks, _ := strings.Cut(text, "\n+++ after\n")
	return hunks
}

// document returns an object as YAML with sorted keys, empty if it is nil.
func document(obj *unstructured.Unstructured) ([]byte, error) {
	if obj == nil {
		return nil, nil
	}
	text, err := yamltext.Marshal(obj.Object)
	if err != nil {
		return nil, fmt.Errorf("write the object as YAML: %w", err)
	}
	return text, nil
}

func signed(sign string, text []byte) string {
	var b strings.Builder
	for line := range bytes.Lines(text) {
		b.WriteString(sign)
		b.Write(line)
	}
	return b.String()
}
