package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/muster-deploy/muster/local/gitserver"
	"github.com/muster-deploy/muster/local/registry"
	"github.com/muster-deploy/muster/local/webhook"
)

// commands returns the commands of scripts besides those of testscript.
func commands() map[string]func(*testscript.TestScript, bool, []string) {
	all := map[string]func(*testscript.TestScript, bool, []string){
		"busy":                busy,
		"eventually":          eventually,
		"exits":               exits,
		"schema":              validateRuns,
		"shape":               shape,
		"expand":              expand,
		"sorted":              sorted,
		"target":              target,
		"timesout":            timesOut,
		"terminal":            terminal,
		"tmux":                tmux,
		"rollout":             rollout,
		"compare":             compare,
		"replay":              replay,
		"replayapp":           replayApp,
		"requests":            requests,
		"permitted":           permitted,
		"recover":             recoverPods,
		"manyconfigmaps":      manyConfigMaps,
		"killatwrite":         killAtWrite,
		"interruptatwrite":    interruptAtWrite,
		"interruptafterwrite": interruptAfterWrite,
		"interruptrefused":    interruptRefused,
		"interruptafter":      interruptAfter,
		"hangupafter":         hangUpAfter,
		"headline":            headline,
		"stopserver":          stopServer,
		"startserver":         startServer,
	}
	maps.Copy(all, gitserver.Commands())
	maps.Copy(all, registry.Commands())
	maps.Copy(all, webhook.Commands())
	return all
}

// usage ends the script unless the arguments are valid.
func usage(ts *testscript.TestScript, ok, neg bool, text string) {
	if neg {
		ts.Fatalf("there is no negation of this command; usage: %s", text)
	}
	if !ok {
		ts.Fatalf("usage: %s", text)
	}
}

// number reads an argument that must be a number.
func number(ts *testscript.TestScript, text string) int {
	n, err := strconv.Atoi(text)
	ts.Check(err)
	return n
}

// exits runs a command like exec and checks its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) >= 2, neg, "exits CODE COMMAND [ARGUMENT]...")
	if want, got := number(ts, args[0]), exitCode(ts, args[1:]); got != want {
		ts.Fatalf("%s ended with exit code %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// exitCode runs a command and returns its exit code.
func exitCode(ts *testscript.TestScript, args []string) int {
	err := ts.Exec(args[0], args[1:]...)
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) {
		return exited.ExitCode()
	} else if err != nil {
		ts.Fatalf("run %s: %v", args[0], err)
	}
	return 0
}

// eventually repeats a command until it succeeds: for what the cluster makes known only after a
// while.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) > 0, neg, "eventually COMMAND [ARGUMENT]...")
	pause := time.NewTicker(100 * time.Millisecond)
	defer pause.Stop()
	for last := time.Now().Add(hangTimeout); ; <-pause.C {
		err := ts.Exec(args[0], args[1:]...)
		if err == nil {
			return
		}
		if time.Now().After(last) {
			ts.Fatalf("%s never succeeds: %v", strings.Join(args, " "), err)
		}
	}
}

// stopServer kills the API server. The plane is shared: nothing may run beside such a script.
func stopServer(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 0, neg, "stopserver")
	ts.Check(kill("kube-apiserver"))
}

// startServer starts the API server again.
func startServer(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 0, neg, "startserver")
	ts.Check(startPlane(context.Background()))
}

// expand replaces ${NS} in files by the namespace of the script, ${GIT} by the address of its git
// server, and ${WEBHOOK}, ${WEBHOOK_PORT} and ${WEBHOOK_CA} by the values of the command webhook.
func expand(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) > 0, neg, "expand FILE...")
	for _, file := range args {
		text := expanded.ReplaceAllStringFunc(ts.ReadFile(file), func(name string) string {
			return ts.Getenv(strings.Trim(name, "${}"))
		})
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text), 0o600))
	}
}

// expanded matches the variables that expand replaces.
var expanded = regexp.MustCompile(`\$\{(NS|GIT|WEBHOOK|WEBHOOK_PORT|WEBHOOK_CA)\}`)

// target checks that the last command named once on standard error what it was about, by a
// regular expression such as: 2 objects of package "shop". The other lines are those of a file, or
// none, beside the note that nothing was asked.
func target(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 1 || len(args) == 2, neg, "target PATTERN [FILE]")
	want, about, others := "", 0, ""
	if len(args) == 2 {
		want = ts.ReadFile(args[1])
	}
	line := regexp.MustCompile(`^context \S+, cluster https://\S+: ` + args[0] +
		" in namespace " + ts.Getenv("NS") + "\n$")
	for text := range strings.Lines(ts.ReadFile("stderr")) {
		switch {
		case line.MatchString(text):
			about++
		case !unasked.MatchString(text) && !strings.HasPrefix(text, "still waiting after "):
			others += text
		}
	}
	if about != 1 || others != want {
		ts.Fatalf("%d lines are about %s, and the others are:\n%s", about, args[0], others)
	}
}

// sorted compares the last output with a file, both with sorted lines: objects that do not depend
// on each other are written concurrently. It ignores "reconcile pending", since readiness at the
// first look depends on the speed of the cluster, and causes, which name pods.
func sorted(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 2, neg, "sorted stdout|stderr FILE")
	got, want := sortedLines(ts.ReadFile(args[0])), sortedLines(ts.ReadFile(args[1]))
	for _, line := range got {
		if !slices.Contains(want, line) {
			ts.Logf("+ %s", strings.TrimSuffix(line, "\n"))
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			ts.Logf("- %s", strings.TrimSuffix(line, "\n"))
		}
	}
	if !slices.Equal(got, want) {
		ts.Fatalf("%s has other lines than %s", args[0], args[1])
	}
}

// uncounted matches the lines that sorted ignores.
var uncounted = regexp.MustCompile(`^    | reconcile pending\n$| is not (ready|gone):\n$`)

func sortedLines(text string) []string {
	lines := slices.Sorted(strings.Lines(text))
	return slices.DeleteFunc(lines, uncounted.MatchString)
}

// traced is a line of -v6, and renewed one that renews the lock of the command, of which there are
// more the longer it runs.
var (
	traced  = regexp.MustCompile(`(?m)^(GET|POST|PUT|PATCH|DELETE) /.*$`)
	renewed = regexp.MustCompile(`^PUT /apis/coordination\.k8s\.io/`)
)

// requests counts the requests of the last command, which was run with -v6, and checks that there
// were not too many. Those that only renew a lock do not count.
func requests(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 1, neg, "requests MAXIMUM")
	most, found := number(ts, args[0]), traced.FindAllString(ts.ReadFile("stderr"), -1)
	found = slices.DeleteFunc(found, renewed.MatchString)
	ts.Logf("%d requests, at most %d allowed", len(found), most)
	if len(found) == 0 {
		ts.Fatalf("no requests were shown; was the last command run with -v6?")
	}
	if len(found) > most {
		ts.Fatalf("%d requests were sent, which is more than %d", len(found), most)
	}
}

// manyConfigMaps writes a file with the ConfigMaps config-FIRST to config-LAST.
func manyConfigMaps(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 3, neg, "manyconfigmaps FIRST LAST FILE")
	first, last := number(ts, args[0]), number(ts, args[1])
	var text strings.Builder
	for i := first; i <= last; i++ {
		fmt.Fprintf(
			&text,
			"---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config-%03d\ndata:\n  number: %q\n",
			i,
			strconv.Itoa(i),
		)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(text.String()), 0o600))
}
