package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

var updateScreens = flag.Bool("update-screens", false, "rewrite testdata/screens from tmux")

// tmux runs a shell in tmux, and reads what a user sees. What the user does is in a file, a step in
// each line:
//
//	type TEXT                   type a line
//	keys NAME...                press keys, as tmux names them: Down, C-z, Escape, q
//	see REGEXP                  wait until the screen matches, or that with all that scrolled away
//	show NAME                   wait until the screen is that of testdata/screens/NAME.txt
//	resize COLUMNS ROWS         change the size of the window
//	kill                        end tmux, and with it the terminal
//	run COMMAND [ARGUMENT]...   run a command beside it until it succeeds
func tmux(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 3, neg, "tmux COLUMNS ROWS FILE")
	w := &tmuxWindow{ts: ts, socket: ts.MkAbs("tmux"), saved: map[string]bool{}}
	w.tmux("-f", "/dev/null", "new-session", "-d", "-x", args[0], "-y", args[1],
		"env PS1='$ ' bash --noprofile --norc")
	defer w.kill()
	w.tmux("set-option", "-g", "window-size", "manual")
	w.see(func(text string) bool { return strings.HasPrefix(text, "$ ") }, "the prompt")
	for line := range strings.Lines(ts.ReadFile(args[2])) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			w.do(line)
		}
	}
}

// tmuxWindow is a window of a tmux server of its own.
type tmuxWindow struct {
	ts     *testscript.TestScript
	socket string
	saved  map[string]bool // the screens that were rewritten
}

// othersVariables are variables that would change what is printed.
var othersVariables = []string{
	"CI", "NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS", "GITLAB_CI", "MUSTER_OUTPUT", "TMUX", "LC_ALL",
	"KUBECONFIG", "HOME", "PATH",
}

// tmux runs a command of tmux and returns its output.
func (w *tmuxWindow) tmux(args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), hangTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-u", "-S", w.socket}, args...)...)
	cmd.Dir = w.ts.MkAbs(".")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(othersVariables, name)
	})
	cmd.Env = append(cmd.Env, "LC_ALL=C.UTF-8", "KUBECONFIG="+w.ts.Getenv("KUBECONFIG"),
		"HOME="+w.ts.Getenv("HOME"), "PATH="+w.ts.Getenv("PATH"), defectVariable(w.ts))
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.ts.Fatalf("tmux %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// kill ends the server, if it runs.
func (w *tmuxWindow) kill() {
	_ = exec.Command("tmux", "-S", w.socket, "kill-server").Run()
}

// screen returns what the window shows, with what has scrolled away if all is set.
func (w *tmuxWindow) screen(all bool) string {
	if all {
		return w.tmux("capture-pane", "-p", "-J", "-S", "-")
	}
	return w.tmux("capture-pane", "-p")
}

// do takes a step.
func (w *tmuxWindow) do(step string) {
	what, rest, _ := strings.Cut(step, " ")
	words := strings.Fields(rest)
	switch what {
	case "type":
		w.tmux("send-keys", "-l", rest)
		w.tmux("send-keys", "Enter")
	case "keys":
		w.tmux(append([]string{"send-keys"}, words...)...)
	case "see":
		w.see(regexp.MustCompile(rest).MatchString, rest)
	case "show":
		w.show(rest)
	case "resize":
		w.tmux("resize-window", "-x", words[0], "-y", words[1])
	case "kill":
		w.kill()
	case "run":
		eventually(w.ts, false, words)
	default:
		w.ts.Fatalf("unknown step %q", step)
	}
}

// captureInterval is the time between two looks at the screen.
const captureInterval = 100 * time.Millisecond

// await calls a function again and again until it returns true. It returns false if it never does.
func (w *tmuxWindow) await(met func() bool) bool {
	pause := time.NewTicker(captureInterval)
	defer pause.Stop()
	for last := time.Now().Add(hangTimeout); !met(); <-pause.C {
		if time.Now().After(last) {
			return false
		}
	}
	return true
}

// see waits until the screen, or all that was on it, passes a test.
func (w *tmuxWindow) see(matches func(string) bool, wanted string) {
	screen := ""
	if !w.await(func() bool {
		if screen = w.screen(false); matches(screen) {
			return true
		}
		return matches(w.screen(true))
	}) {
		w.ts.Fatalf("the screen has not come to match %q:\n%s", wanted, screen)
	}
}

// show waits until the screen is that of a file.
func (w *tmuxWindow) show(name string) {
	path := filepath.Join("testdata", "screens", name+".txt")
	if *updateScreens && !w.saved[name] {
		w.saved[name] = true
		w.ts.Check(os.WriteFile(path, []byte(w.still()), 0o600))
		return
	}
	want, err := os.ReadFile(path)
	w.ts.Check(err)
	got := ""
	if !w.await(func() bool {
		got = w.normal(w.screen(false))
		return got == string(want)
	}) {
		w.ts.Fatalf("the screen is not that of %s (-wanted, +shown):\n%s", path, cmp.Diff(
			strings.Split(string(want), "\n"), strings.Split(got, "\n"),
		))
	}
}

// stillCaptures is how often the screen has to be the same to be taken for one that stays.
const stillCaptures = 30

// still returns the screen once it does not change any more.
func (w *tmuxWindow) still() string {
	text, same := "", 0
	w.await(func() bool {
		now := w.normal(w.screen(false))
		if same++; now != text {
			text, same = now, 0
		}
		return same == stillCaptures
	})
	return text
}

// Parts of a screen that differ from run to run.
var (
	clockText   = regexp.MustCompile(` +(?:[0-9]+h[0-9]{2}m|[0-9]+m[0-9]{2}s|[0-9]+s)(?: |$)`)
	doneLine    = regexp.MustCompile(`^[ >]*✓`)
	clusterText = regexp.MustCompile(`, context .*`)
	portText    = regexp.MustCompile(`https://127\.0\.0\.1:[0-9]{5}`)
)

// normal replaces times by 0s, and removes what depends on the run: the cluster in the title, its
// port, the end of the name of the namespace, and the times of objects that are done.
func (w *tmuxWindow) normal(text string) string {
	namespace := w.ts.Getenv("NS")
	fixed := namespace[:strings.LastIndexByte(namespace, '-')] + "-00000" // as long
	text = portText.ReplaceAllString(text, "https://127.0.0.1:00000")     // as long
	lines := strings.Split(strings.ReplaceAll(text, namespace, fixed), "\n")
	for i, line := range lines {
		times := "0s"
		if doneLine.MatchString(line) {
			times = ""
		}
		line = clockText.ReplaceAllStringFunc(line, func(clock string) string {
			end := clock[len(strings.TrimRight(clock, " ")):]
			return fmt.Sprintf("%*s%s", len(clock)-len(end), times, end)
		})
		if i == 0 && clusterText.MatchString(line) {
			line = clusterText.ReplaceAllString(line, ", context ...")
		} else if i == 0 && strings.Contains(line, "…") {
			line = "..." // it is cut where the time begins
		}
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// rollout writes the manifests of a rollout of 200 Deployments into a folder. All become ready but
// four, each for another reason; a Job waits for one of those.
func rollout(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 1, neg, "rollout FOLDER")
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, deploymentForm, i, heldReplicas[i]+1, heldPods[i])
	}
	b.WriteString(waitingJob)
	text := strings.ReplaceAll(b.String(), "${NS}", ts.Getenv("NS"))
	ts.Check(errors.Join(
		os.MkdirAll(ts.MkAbs(args[0]), 0o700),
		os.WriteFile(filepath.Join(ts.MkAbs(args[0]), "all.yaml"), []byte(text), 0o600),
	))
}

// heldReplicas are the further replicas of Deployments that are held: a cause that two pods share
// has no generated name.
var heldReplicas = map[int]int{7: 1, 42: 1, 100: 1, 150: 1}

// heldPods are the annotations of pods that do not become ready.
var heldPods = map[int]string{
	7: `{local.muster.dev/behaviour: crash-loop, local.muster.dev/logs: "listening on :8080` +
		`\nfatal: no database at db:5432\n"}`,
	42:  `{local.muster.dev/behaviour: image-pull-error}`,
	100: `{local.muster.dev/behaviour: pending}`,
	150: `{local.muster.dev/behaviour: never-ready}`,
}

const deploymentForm = `apiVersion: apps/v1
kind: Deployment
metadata: {name: app-%03[1]d}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: app-%03[1]d}}
  template:
    metadata:
      labels: {app: app-%03[1]d}
      annotations: %[3]s
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: example/app:1}]
---
`

const waitingJob = `apiVersion: batch/v1
kind: Job
metadata:
  name: smoke-test
  annotations:
    config.kubernetes.io/depends-on: apps/namespaces/${NS}/Deployment/app-007
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: example/test:1}]
`
