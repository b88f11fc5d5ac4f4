package config

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Fit returns a desired object as the rules let it replace a live one in a merge of three sides:
// with the values of the live object where a rule leaves them to others. Applied is what was
// applied last; nil if that is not known. The arguments do not change.
//
// Rebase rules are evaluated as in Rebase, on the manifest. A path that comparisons with live
// objects exclude keeps its live value, if there is one. A path that comparisons with what was
// applied last exclude keeps it while the manifest says what it said then.
func (c *Config) Fit(desired, live, applied *unstructured.Unstructured) (
	*unstructured.Unstructured, error) {
	result, err := c.Rebase(live, desired)
	if err != nil {
		return nil, err
	}
	for _, p := range c.notCompared.matching(result.Object) {
		if err := copyPath(p, result.Object, []map[string]any{live.Object,
			desired.Object}); err != nil {
			return nil, fmt.Errorf("leave %s to others: %w", p, err)
		}
	}
	if applied == nil {
		return result, nil
	}
	for _, p := range c.notApplied.matching(result.Object) {
		again := applied.DeepCopy()
		err := remove(p, again.Object) // the manifest may not say it any more
		if err == nil {
			err = copyPath(p, again.Object, []map[string]any{desired.Object})
		}
		if err == nil && reflect.DeepEqual(again.Object, applied.Object) {
			err = copyPath(p, result.Object, []map[string]any{live.Object, desired.Object})
		}
		if err != nil {
			return nil, fmt.Errorf("leave %s to others: %w", p, err)
		}
	}
	return result, nil
}
