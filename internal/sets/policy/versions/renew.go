package versions

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// Renew sets the renewal time of new objects that are to be applied again every so often and are
// due, and copies the last one to the others. An object that does not exist needs none.
func (known *Live) Renew(new []*unstructured.Unstructured, now time.Time) error {
	var plain map[string]*unstructured.Unstructured
	for _, obj := range new {
		text, found := resource.Annotation(obj, resource.AnnRenewDuration)
		if !found {
			continue
		}
		every, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("Unable to parse renew-duration for resource %s: %w",
				resource.Describe(obj), err)
		}
		if plain == nil {
			plain = byKey(known.Plain)
		}
		live := plain[resource.Key(obj)]
		if newest := known.newest(resource.Key(obj)); newest != nil {
			live = newest.Object
		}
		if live == nil {
			continue
		}
		if err := renewOne(obj, live, every, now); err != nil {
			return err
		}
	}
	return nil
}

// renewOne renews one object. Its last renewal is recorded on the live object, or else is its
// creation.
func renewOne(obj, live *unstructured.Unstructured, every time.Duration, now time.Time) error {
	last := live.GetCreationTimestamp().Time
	stamp, found := resource.Annotation(live, resource.AnnLastRenewed)
	if found {
		renewed, err := time.Parse(time.RFC3339, stamp)
		if err != nil {
			return fmt.Errorf("Unable to parse last-renewed-time for resource %s: %w",
				resource.Describe(obj), err)
		}
		if renewed.After(last) {
			last = renewed
		}
	}
	switch {
	case !now.Before(last.Add(every)):
		stamp = now.UTC().Format(time.RFC3339)
	case !found:
		return nil
	}
	return unstructured.SetNestedField(obj.Object, stamp, "metadata", "annotations",
		resource.AnnLastRenewed)
}

func byKey(objects []*unstructured.Unstructured) map[string]*unstructured.Unstructured {
	keys := make(map[string]*unstructured.Unstructured, len(objects))
	for _, obj := range objects {
		keys[resource.Key(obj)] = obj
	}
	return keys
}
