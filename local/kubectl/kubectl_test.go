package kubectl

import (
	"strings"
	"testing"

	"github.com/muster-deploy/muster/local/kubectl/call/protocol"
)

func TestAbsolute(t *testing.T) {
	for args, want := range map[string]string{
		"apply -f all.yaml":                     "apply -f /dir/all.yaml",
		"apply --filename=../all.yaml":          "apply --filename=/all.yaml",
		"apply -f /all.yaml":                    "apply -f /all.yaml",
		"apply -f https://example.com/all.yaml": "apply -f https://example.com/all.yaml",
		"apply -f":                              "apply -f",
		"patch pod web --patch-file p.json":     "patch pod web --patch-file /dir/p.json",
		"create cm web --from-file=key=a.txt":   "create cm web --from-file=key=/dir/a.txt",
		"create cm web --from-file folder":      "create cm web --from-file /dir/folder",
		"get pods -o name":                      "get pods -o name",
		"apply -f -":                            "apply -f /dev/fd/7",
		"apply --filename=-":                    "apply --filename=/dev/fd/7",
		"create cm web --from-file=key=-":       "create cm web --from-file=key=/dev/fd/7",
	} {
		got := strings.Join(absolute("/dir", "/dev/fd/7", strings.Fields(args)), " ")
		if got != want {
			t.Errorf("%s becomes %s, want %s", args, got, want)
		}
	}
}

func TestRuns(t *testing.T) {
	for args, want := range map[string]bool{
		"get pods":                          true,
		"-n web get pods":                   true,
		"--namespace=web apply -f all.yaml": true,
		"get pods -w":                       false,
		"get pods -v6":                      false,
		"apply -f -":                        true,
		"auth can-i get pods":               true,
		"config view":                       true,
		"edit deployment web":               false,
		"exec web -- kubectl get pods":      false,
		"--context get":                     false,
		"":                                  false,
	} {
		call := protocol.Call{Args: strings.Fields(args), Kubeconfig: "/kubeconfig"}
		if got := runs(call); got != want {
			t.Errorf("runs(%q) = %t", args, got)
		}
	}
	for _, kubeconfig := range []string{"", "/one:/two"} {
		if runs(protocol.Call{Args: []string{"get", "pods"}, Kubeconfig: kubeconfig}) {
			t.Errorf("a call with the kubeconfig %q runs in this process", kubeconfig)
		}
	}
}

func TestNoConditions(t *testing.T) {
	nothing := "error: .status.conditions accessor error: <nil> is of the type <nil>, " +
		"expected []interface{}"
	for _, test := range []struct {
		args, message string
		want          bool
	}{
		{"wait --for=condition=Established crd/a", nothing, true},
		{"wait --for=condition=Established crd/a", "error: timed out waiting for the condition", false},
		{"wait --for=condition=Established crd/a", "", false},
		{"get crd/a", nothing, false},
	} {
		call := protocol.Call{Args: strings.Fields(test.args)}
		if got := noConditions(call, ended{message: test.message}); got != test.want {
			t.Errorf("noConditions(%s, %s) = %t", test.args, test.message, got)
		}
	}
}
