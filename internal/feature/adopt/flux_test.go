package adopt

import (
	"strings"
	"testing"
)

// TestSuspended: an object of Flux is refused unless it is suspended and its controller is at rest.
// A controller does nothing about one that is suspended: what a failed run has left in its status
// stays.
func TestSuspended(t *testing.T) {
	const failed = `conditions: [{type: Reconciling, status: "True", reason: ProgressingWithRetry},
		{type: Ready, status: "False", message: path not found}]`
	for text, want := range map[string]string{
		`{spec: {suspend: true}}`: "",
		`{spec: {}}`://
		"is not suspended, and its controller would change the objects back: first",
		`{spec: {suspend: true}, status: {conditions: [
			{type: Reconciling, status: "True", reason: Progressing}]}}`: //
		"is suspended, but what its controller began has not ended: wait until",
		`{spec: {suspend: true}, status: {` + failed + `}}`://
		"is suspended, but its last run failed (path not found): resume it, correct that, and",
		`{spec: {suspend: true}, status: {conditions: [{type: Ready, status: "False"}]}}`: "",
		`{spec: {suspend: true}, metadata: {deletionTimestamp: 2026-01-01T00:00:00Z}}`://
		"is being deleted",
	} {
		err := suspendError(parse(t, text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestRemote: what is deployed to another cluster is not adopted in this one, where other objects
// may have the same names.
func TestRemote(t *testing.T) {
	for text, remote := range map[string]bool{
		`{spec: {kubeConfig: {secretRef: {name: prod}}}}`:    true,
		`{spec: {kubeConfig: {configMapRef: {name: prod}}}}`: true,
		`{spec: {suspend: true}}`:                            false,
	} {
		err := remoteError(parse(t, text))
		if (err != nil) != remote {
			t.Errorf("%s: %v", text, err)
		}
	}
}
