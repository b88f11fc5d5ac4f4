package webhook

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// key is the key of the server of a script among its values.
type key struct{}

// Setup prepares a script for the commands.
func Setup(env *testscript.Env) { env.Values[key{}] = new(*Server) }

// Commands returns commands of scripts:
//
//   - webhook open reserves a port for a webhook server, whose address is in $WEBHOOK and its port
//     in $WEBHOOK_PORT. Its authority, as a caBundle has it, is in $WEBHOOK_CA. It is also valid
//     for the Service webhook in the namespace of the script.
//   - webhook serve lets it answer. Before, connections are refused.
//   - webhook operator DEPLOYMENT CONFIGURATION... does what an operator does, beside the script:
//     once the Deployment is available, it serves, and puts its authority into each webhook of the
//     configurations, which are written as KIND/NAME.
//   - webhook release lets the slow webhooks answer
//   - webhook called PATH checks that the API server has called a path
func Commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){"webhook": run}
}

// usage is printed for wrong arguments.
const usage = "webhook open | serve | operator DEPLOYMENT KIND/NAME... | release | called PATH"

func run(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: %s", usage)
	}
	if args[0] == "open" {
		open(ts)
		return
	}
	s := *ts.Value(key{}).(**Server)
	if s == nil {
		ts.Fatalf(`the script has no webhook server; "webhook open" makes one`)
	}
	switch {
	case args[0] == "serve" && len(args) == 1:
		ts.Check(s.Serve())
	case args[0] == "operator" && len(args) > 1:
		operate(ts, s, args[1], args[2:])
	case args[0] == "release" && len(args) == 1:
		s.Release()
	case args[0] == "called" && len(args) == 2:
		if s.Count(args[1]) == 0 {
			ts.Fatalf("the API server has not called %s", args[1])
		}
	default:
		ts.Fatalf("usage: %s", usage)
	}
}

// open makes the server of a script.
func open(ts *testscript.TestScript) {
	s, err := Open(fmt.Sprintf("webhook.%s.svc", ts.Getenv("NS")))
	ts.Check(err)
	ts.Defer(func() { _ = s.Close() })
	*ts.Value(key{}).(**Server) = s
	ts.Setenv("WEBHOOK", s.URL())
	ts.Setenv("WEBHOOK_PORT", strconv.Itoa(s.Port))
	ts.Setenv("WEBHOOK_CA", s.Bundle())
}

// operate starts the part of an operator.
func operate(ts *testscript.TestScript, s *Server, deployment string, configs []string) {
	ctx, cancel := context.WithCancel(context.Background())
	kubeconfig, namespace := ts.Getenv("KUBECONFIG"), ts.Getenv("NS")
	kubectl := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "kubectl", args...)
		cmd.Env = append(cmd.Environ(), "KUBECONFIG="+kubeconfig)
		out, err := cmd.Output()
		return string(out), err
	}
	done := make(chan struct{})
	go func() { // ends with the script
		defer close(done)
		pause := time.NewTicker(100 * time.Millisecond)
		defer pause.Stop()
		for ; ctx.Err() == nil; <-pause.C {
			out, err := kubectl("-n", namespace, "get", "deployment", deployment,
				"-o", "jsonpath={.status.availableReplicas}")
			if err == nil && out != "" && s.Serve() == nil && inject(kubectl, s, configs) {
				return
			}
		}
	}()
	ts.Defer(func() { cancel(); <-done })
}

// inject puts the authority of the server into all webhooks of configurations, and reports whether
// that succeeded.
func inject(kubectl func(...string) (string, error), s *Server, configs []string) bool {
	for _, name := range configs {
		names, err := kubectl("get", name, "-o", "jsonpath={.webhooks[*].name}")
		if err != nil {
			return false
		}
		var changes []string
		for i := range strings.Fields(names) {
			changes = append(changes, fmt.Sprintf(
				`{"op":"add","path":"/webhooks/%d/clientConfig/caBundle","value":%q}`, i, s.Bundle()))
		}
		_, err = kubectl("patch", name, "--type=json", "--field-manager=webhook-operator",
			"-p", "["+strings.Join(changes, ",")+"]")
		if err != nil {
			return false
		}
	}
	return true
}
