package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// unlisted are what commands may look at beyond a set, to say more: whether a namespace or a
// definition exists, which cluster it is, whether a volume waits for a pod, and what is permitted.
var unlisted = []string{
	"namespaces", "storageclasses", "customresourcedefinitions", "selfsubjectaccessreviews",
	"selfsubjectrulesreviews",
}

// search is a part of requests for the objects of an app among all kinds: what may not be listed is
// left out.
const search = "?labelSelector=kapp.k14s.io%2Fapp%3D"

// byName is a part of lists of one object, which is read by its name if it may not be listed.
const byName = "?fieldSelector=metadata.name%3D"

// permitted checks that the requests of the last command, which was run with -v6, need nothing but
// the permissions that a file with the JSON of check-access lists.
func permitted(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 1, neg, "permitted FILE")
	var report struct {
		Permissions []struct{ Verb, Group, Resource string }
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &report))
	var listed []permission
	for _, p := range report.Permissions {
		listed = append(listed, permission{p.Verb, p.Group, p.Resource, ""})
	}
	sent := traced.FindAllString(ts.ReadFile("stderr"), -1)
	if len(sent) == 0 {
		ts.Fatalf("no requests were shown; was the last command run with -v6?")
	}
	var missing []string
	for _, line := range sent {
		if strings.Contains(line, search) {
			continue
		}
		words := strings.Fields(line)
		request, err := http.NewRequest(words[0], words[1], nil)
		ts.Check(err)
		p, ok := permissionOf(request)
		if p.verb == "list" && strings.Contains(line, byName) {
			p.verb = "get"
		}
		if p.name = ""; ok && !slices.Contains(listed, p) && !slices.Contains(unlisted, p.resource) {
			missing = append(missing, p.String()+": "+line)
		}
	}
	if len(missing) > 0 {
		ts.Fatalf("requests that check-access does not list:\n%s", strings.Join(missing, "\n"))
	}
}
