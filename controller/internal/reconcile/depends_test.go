package reconcile

import (
	"strings"
	"testing"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
)

// TestEvaluateNoBool evaluates an expression whose value is a list with a text of megabytes: the
// error, which is kept in the status of the Set, has none of it.
func TestEvaluateNoBool(t *testing.T) {
	program, err := compile("[[1]]" + strings.Repeat(".map(x, [x, x])", 20))
	if err != nil {
		t.Fatal(err)
	}
	_, err = evaluate(program, &v1alpha1.Set{}, &v1alpha1.Set{})
	if err == nil || err.Error() != "the value is a list, not a bool" {
		t.Errorf("the error is %.200v", err)
	}
}
