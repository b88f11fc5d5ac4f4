package inventory

import (
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/object"
)

func TestKeys(t *testing.T) {
	const rbac = "rbac.authorization.k8s.io"
	for key, ref := range map[string]object.Ref{
		"default_cm__ConfigMap": {
			Kind: "ConfigMap", Namespace: "default", Name: "cm",
		},
		"_my-ns__Namespace": {Kind: "Namespace", Name: "my-ns"},
		"n_web.v1_apps_Deployment": {
			Group: "apps", Kind: "Deployment", Namespace: "n", Name: "web.v1",
		},
		"_system__reader_" + rbac + "_ClusterRole": {
			Group: rbac, Kind: "ClusterRole", Name: "system:reader",
		},
		"n_a__b__c_" + rbac + "_RoleBinding": {
			Group: rbac, Kind: "RoleBinding", Namespace: "n", Name: "a:b:c",
		},
		"n___leading_" + rbac + "_Role": {
			Group: rbac, Kind: "Role", Namespace: "n", Name: ":leading",
		},
		"n_trailing___" + rbac + "_Role": {
			Group: rbac, Kind: "Role", Namespace: "n", Name: "trailing:",
		},
		"_first.example.com_apiregistration.k8s.io_Sample": {
			Group: "apiregistration.k8s.io", Kind: "Sample", Name: "first.example.com",
		},
	} {
		if got, err := parseKey(key); err != nil || got != ref {
			t.Errorf("%s is read as %v, %v; want %v", key, got, err, ref)
		}
		if got, err := formatKey(ref); err != nil || got != key {
			t.Errorf("%v is written as %q, %v; want %q", ref, got, err, key)
		}
	}
	for key, want := range map[string]string{
		"":                     "too few fields",
		"colour":               "too few fields",
		"n_cm":                 "too few fields",
		"n_cm_ConfigMap":       "too few fields",
		"n_cm__":               "no kind or no name",
		"n___ConfigMap":        "no kind or no name",
		"n_a_b__ConfigMap":     "too many fields",
		"n_a_b_apps_ConfigMap": "too many fields",
	} {
		if ref, err := parseKey(key); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is read as %v, %v; want the error %s", key, ref, err, want)
		}
	}
	for _, ref := range []object.Ref{
		{Group: rbac, Kind: "Role", Namespace: "n", Name: "a_b"},
		{Group: rbac, Kind: "Role", Namespace: "n", Name: "a__b"},
		{Group: rbac, Kind: "Role", Namespace: "n", Name: "a_:b"},
		{Kind: "ConfigMap", Namespace: "n", Name: "a:b"},
	} {
		if key, err := formatKey(ref); err == nil {
			t.Errorf("%v is written as %q, which is another object", ref, key)
		}
	}
}

// What is written is read as the same object, and what is read is written as the same key, unless
// it is refused.
func FuzzKey(f *testing.F) {
	f.Add("n", "cm", "", "ConfigMap", "n_cm__ConfigMap")
	f.Add(
		"", "system:a", "rbac.authorization.k8s.io", "ClusterRole",
		"_system__a_rbac.authorization.k8s.io_ClusterRole",
	)
	f.Add("a_b", "_", "_", "_", "n___a__Kind")
	f.Fuzz(func(t *testing.T, namespace, name, group, kind, key string) {
		ref := object.Ref{Group: group, Kind: kind, Namespace: namespace, Name: name}
		if written, err := formatKey(ref); err == nil {
			if read, err := parseKey(written); err != nil || read != ref {
				t.Errorf("%+v is written as %q and read as %+v, %v", ref, written, read, err)
			}
		}
		read, err := parseKey(key)
		if err != nil {
			return
		}
		if read.Kind == "" || read.Name == "" {
			t.Errorf("%q is read as %+v", key, read)
		}
		if written, err := formatKey(read); err == nil && written != key {
			t.Errorf("%q is read as %+v and written as %q", key, read, written)
		}
	})
}
