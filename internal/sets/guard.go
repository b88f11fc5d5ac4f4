package sets

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/plan"
)

// Guard lets the steps of a plan fail whose objects others change before their turn. Without it
// they are decided again for the objects as the server has them then. Compared returns what counts
// of an object; nil means all but what only the server writes.
func Guard(p *plan.Plan, compared func(*unstructured.Unstructured) *unstructured.Unstructured) {
	if compared == nil {
		compared = func(obj *unstructured.Unstructured) *unstructured.Unstructured { return obj }
	}
	for i := range p.Steps {
		step := &p.Steps[i]
		have := step.Have
		if have == nil && step.Op != plan.Create {
			continue
		}
		step.Permit = func(live *unstructured.Unstructured) error {
			if have == nil {
				return errors.New("others created it since the plan was made; plan again")
			}
			if len(diff.Between(compared(have), compared(live), diff.Options{})) > 0 {
				return errors.New("others changed it since the plan was made; plan again")
			}
			return nil
		}
	}
}

// content returns an object without labels and annotations.
func content(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	obj.SetLabels(nil)
	obj.SetAnnotations(nil)
	return obj
}
