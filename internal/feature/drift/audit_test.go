package drift

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
)

const auditLines = `
{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","requestURI":"/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=kubectl-edit","verb":"patch","user":{"username":"ann"},"userAgent":"kubectl/v1.33","objectRef":{"resource":"deployments","namespace":"shop","name":"web","apiGroup":"apps"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T01:00:00.400000Z"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","requestURI":"/apis/apps/v1/namespaces/shop/deployments/web?dryRun=All&fieldManager=kubectl-edit","verb":"patch","user":{"username":"bob"},"userAgent":"kubectl/v1.33","objectRef":{"resource":"deployments","namespace":"shop","name":"web","apiGroup":"apps"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T01:00:00.600000Z"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","requestURI":"/apis/apps/v1/namespaces/shop/deployments/web","verb":"update","user":{"username":"robot"},"impersonatedUser":{"username":"eve"},"userAgent":"k9s/v1","objectRef":{"resource":"deployments","namespace":"shop","name":"web","apiGroup":"apps"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T02:00:00.000000Z"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/shop/configmaps/flags","verb":"delete","user":{"username":"carl"},"objectRef":{"resource":"configmaps","namespace":"shop","name":"flags"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T03:00:00.000000Z"}
`

// auditLineOfAll deletes all ConfigMaps of a namespace at an hour.
const auditLineOfAll = `{"kind":"Event","apiVersion":"audit.k8s.io/v1",` +
	`"stage":"ResponseComplete","requestURI":"/api/v1/namespaces/shop/configmaps",` +
	`"verb":"deletecollection","user":{"username":"dora"},` +
	`"objectRef":{"resource":"configmaps","namespace":"shop"},` +
	`"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T%02d:00:00Z"}` + "\n"

func TestJoin(t *testing.T) {
	log, err := ReadAudit(strings.NewReader(auditLines))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	web := &Object{
		Ref: object.Ref{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, Kind: Changed,
		Fields: []Field{
			{Path: "image", Managers: []Manager{{Name: "kubectl-edit", Time: at}}},
			{Path: "later", Managers: []Manager{{Name: "kubectl-edit", Time: at.Add(time.Hour)}}},
			{Path: "gone"},
		},
	}
	log.Join(web, schema.GroupResource{Group: "apps", Resource: "deployments"}, at)
	flags := &Object{Ref: object.Ref{Kind: "ConfigMap", Namespace: "shop", Name: "flags"},
		Kind: Deleted}
	log.Join(flags, schema.GroupResource{Resource: "configmaps"}, at)
	all := func(hour int) *Object {
		line := fmt.Sprintf(auditLineOfAll, hour)
		log, err := ReadAudit(strings.NewReader(line))
		if err != nil {
			t.Fatal(err)
		}
		gone := &Object{Ref: flags.Ref, Kind: Deleted}
		log.Join(gone, schema.GroupResource{Resource: "configmaps"}, at)
		return gone
	}
	before, after := all(0), all(2)
	var got []string
	for _, p := range []*Person{
		web.Fields[0].Person, web.Fields[1].Person, web.Fields[2].Person, flags.Person,
		before.Person, after.Person,
	} {
		name := "-"
		if p != nil {
			name = p.Name
		}
		got = append(got, name)
	}
	if text := strings.Join(got, ", "); text != "ann, -, eve (by robot), carl, -, dora" {
		t.Errorf("persons: %s", text)
	}
}

func TestReadAuditRefuses(t *testing.T) {
	first, _, _ := strings.Cut(strings.TrimSpace(auditLines), "\n")
	for text, want := range map[string]string{
		"":                           "line 1: ",
		"hello":                      "line 1: it is no event",
		first + "\n\n{\"kind\":1}\n": "line 3: it is no event",
		first + "\n" + `{"kind":"Pod","apiVersion":"v1"}`: "line 2: it is no event",
	} {
		if _, err := ReadAudit(strings.NewReader(text)); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzReadAudit(f *testing.F) {
	f.Add([]byte(auditLines))
	f.Fuzz(func(_ *testing.T, text []byte) { _, _ = ReadAudit(strings.NewReader(string(text))) })
}

func TestClasses(t *testing.T) {
	classes, err := ParseClasses([]byte("- {class: controller, names: [my-tool, 'K9S*']}"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Class{
		"kubectl-edit": Human, "kubectl": Human, "k9s": Controller, "my-tool": Controller,
		"kube-controller-manager": Controller, "argocd-controller": Deployer, "helm": Deployer,
		"Helm": Deployer, "kustomize-controller": Deployer, "acme-operator": Controller,
		"Go-http-client": Unknown, "muster": Own, "kapp-controller": Deployer, "": Unknown,
	} {
		if got := classes.Of(name); got != want {
			t.Errorf("%q is %s, want %s", name, got, want)
		}
	}
	for text, want := range map[string]string{
		"- {class: robot, names: [a]}":   `the class "robot" does not exist`,
		"- {class: human}":               "names has no name",
		"- {class: human, names: ['[']}": "is no pattern",
		"- {class: human, name: [a]}":    "expected a list",
		"a: b":                           "expected a list",
	} {
		if _, err := ParseClasses([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
