package ready

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Facts are what tables show of an object besides its status.
type Facts struct {
	Conditions []Condition
	Created    time.Time // zero if the object does not say
}

// Condition is one entry of status.conditions.
type Condition = condition

// FactsOf reads the facts of an object.
func FactsOf(obj *unstructured.Unstructured) *Facts {
	return &Facts{Conditions: slices.Collect(conditions(obj)), Created: obj.GetCreationTimestamp().Time}
}
