package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/muster-deploy/muster/local/laws"
)

// batch is a set of TestLaws, in a namespace of its own.
type batch struct {
	lawForm
	t               *testing.T
	generator       *laws.Generator
	client          dynamic.Interface
	mapper          meta.RESTMapper
	dir, namespace  string
	members         []*member
	dropped         []*member
	tried, accepted int
	smaller         bool // it has one object for which a law does not hold
}

// run checks all laws with one set.
func (b *batch) run(first int) {
	check(b.t, createNamespace(b.t.Cleanup, b.namespace))
	check(b.t, writeKubeconfig(filepath.Join(b.dir, "kubeconfig"), b.namespace))
	b.createTarget()
	b.generate(first)
	b.check()
	b.shrink()
}

// check checks all laws with the objects of the set.
func (b *batch) check() {
	b.t.Helper()
	b.write(0)
	b.t.Cleanup(b.remove)
	b.deploy(0, "a new set")
	b.checkLive(0, "a new set")
	b.checkNothing(0, "a new set")
	b.changeVersions()
	b.editByOthers()
	b.deploy(0, "edits by others")
	b.checkLive(0, "edits by others")
	for !b.fix() {
		b.deploy(0, "edits by others")
	}
	b.checkLive(0, "a fix")
	b.checkFixed()
	b.checkNothing(0, "a fix")
	b.deploy(1, "an update")
	b.checkLive(1, "an update")
	b.checkNothing(1, "an update")
	if slices.ContainsFunc(b.members, func(m *member) bool { return m.edit != nil && !m.failed }) &&
		b.rollBack() {
		b.checkLive(0, "a rollback")
		b.checkNothing(0, "a rollback")
	}
	b.destroy()
}

// source returns the arguments that name the set, with the manifests of a version.
func (b *batch) source(version int) []string {
	if b.app {
		return []string{"-a", set, "-f", fmt.Sprintf("v%d", version)}
	}
	return []string{fmt.Sprintf("v%d", version)}
}

// limit is the flag for the time after which a run fails whose objects do not become ready.
const limit = "--reconcile-timeout=5m"

// flags returns the flags of a run that writes.
func (b *batch) flags() []string {
	flags := []string{"--allow-delete=*"} // of claims that are recreated
	if b.serverSide {
		flags = append(flags, "--server-side", "--force-conflicts")
	}
	return flags
}

// muster runs a command for the set, and returns its output and exit code.
func (b *batch) muster(command string, source []string, flags ...string) (string, string, int) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), hangTimeout)
	defer cancel()
	args := slices.Concat(strings.Fields(command), source, flags)
	cmd := exec.CommandContext(ctx, "muster", args...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+b.dir+"/kubeconfig", "HOME="+b.dir)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) {
		b.t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// planned is what a plan says about an object.
type planned struct {
	Kind, Name, Action string
	Changes            []struct{ Path, Kind string }
	Error              string
}

// plan returns the objects that a plan would change, by their keys, or the lines of its failure.
func (b *batch) plan(
	command string, source []string, flags ...string,
) (plan map[string]planned, failed string) {
	b.t.Helper()
	out, errs, code := b.muster(command, source, append(flags, "-o", "json")...)
	var read struct{ Objects []planned }
	if err := json.Unmarshal([]byte(out), &read); err != nil {
		return nil, failures(out + errs)
	}
	plan = map[string]planned{}
	for _, p := range read.Objects {
		if p.Action != "unchanged" {
			plan[p.Kind+"/"+p.Name] = p
		}
		if p.Error != "" {
			failed += fmt.Sprintf("%s/%s would fail: %s\n", p.Kind, p.Name, p.Error)
		}
	}
	if code != 0 && failed == "" {
		failed = failures(errs)
	}
	return plan, failed
}

// failures returns the lines of an output that say what went wrong.
func failures(out string) string {
	var lines strings.Builder
	for line := range strings.Lines(out) {
		if strings.Contains(line, "ailed") || strings.Contains(line, "error") {
			lines.WriteString(line)
		}
	}
	return lines.String()
}

// deploy applies a version, and checks that the plan before it showed what it changes. Objects for
// which a law did not hold are left out, and so are those that fail.
func (b *batch) deploy(version int, when string) {
	b.t.Helper()
	for {
		b.leaveOutFailed()
		plan, planText := b.plan("plan", b.source(version), b.flags()...)
		before := b.read()
		out, errs, code := b.muster("apply", b.source(version), append(b.flags(), "--yes", limit)...)
		text := planText + failures(out+errs)
		if code == 0 && planText == "" {
			b.checkPlan(when, plan, before)
			return
		}
		if !b.blame(when, text) {
			b.t.Fatalf("%s: apply ends with exit code %d\n%s", when, code, text)
		}
	}
}

// leaveOutFailed takes the objects out of the set for which a law did not hold.
func (b *batch) leaveOutFailed() {
	b.t.Helper()
	kept := slices.DeleteFunc(slices.Clone(b.members), func(m *member) bool { return m.failed })
	if len(kept) == len(b.members) {
		return
	}
	b.dropped = append(b.dropped, slices.DeleteFunc(slices.Clone(b.members), func(m *member) bool {
		return !m.failed
	})...)
	b.members = kept
	b.write(0)
	b.write(1)
}

// blame reports the objects that an output says have failed, and whether there are any.
func (b *batch) blame(when, out string) bool {
	b.t.Helper()
	blamed := false
	for _, m := range b.members {
		for line := range strings.Lines(out) {
			if regexp.MustCompile(m.versions[0].GetName()+`\b`).MatchString(line) && !m.failed {
				b.fail(m, when, "it fails: %s", line)
				blamed = true
			}
		}
	}
	return blamed
}

// live returns the contents of the live objects, by their keys.
func (b *batch) live() map[string]*unstructured.Unstructured {
	b.t.Helper()
	found := b.read()
	for key, obj := range found {
		found[key] = content(obj, obj.GetName())
	}
	return found
}

// read returns the live objects, by their keys.
func (b *batch) read() map[string]*unstructured.Unstructured {
	b.t.Helper()
	found := map[string]*unstructured.Unstructured{}
	for _, m := range slices.Concat(b.members, b.dropped) {
		name := m.versions[0].GetName()
		obj, err := b.resources(m.Object).Get(b.t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		check(b.t, err)
		found[m.key()] = obj
	}
	return found
}

// fail reports an object for which a law does not hold, with its manifests.
func (b *batch) fail(m *member, when, format string, args ...any) {
	b.t.Helper()
	m.failed = true
	text := fmt.Sprintf("%s: %s: %s: %s\n", b.name, m.key(), when, fmt.Sprintf(format, args...))
	for _, known := range lawFaults {
		if known.pattern.MatchString(text) {
			b.t.Logf("%s: %s: %s", m.key(), when, known.why)
			return
		}
	}
	m.unknown = true
	if m.byOthers != nil {
		text += fmt.Sprintf("edit by others: %s\n", m.byOthers)
	}
	if m.edit != nil {
		text += fmt.Sprintf("edit of the second version: %s\n", m.edit)
	}
	b.t.Errorf("%sfirst version:\n%s", text, asYAML(m.versions[0]))
}

// checkLive checks that live objects have what the manifests of a version say, and not what only
// the other version says. Defaults may stay that others have changed, or that were right for the
// earlier value of another field: no manifest has them.
func (b *batch) checkLive(version int, when string) {
	b.t.Helper()
	live := b.live()
	for _, m := range b.members {
		obj := live[m.key()]
		if m.failed {
			continue
		}
		if obj == nil {
			b.fail(m, when, "it does not exist")
			continue
		}
		missing := b.generator.Schemas.Missing(m.want[version], obj, func(path laws.Path) bool {
			return slices.ContainsFunc(m.ignored[version], path.Begins) ||
				(m.others != nil || m.edit != nil) && path.Get(m.manifest(version).Object) == nil
		})
		if len(missing) > 0 {
			b.fail(m, when, "the live object differs:\n%s", strings.Join(missing, "\n"))
		}
		b.checkRemoved(m, obj, version, when)
		b.checkLingering(m, obj, version, when)
	}
}

// checkRemoved checks that a value is gone that the other version alone has. Maps and lists without
// content may stay.
func (b *batch) checkRemoved(m *member, live *unstructured.Unstructured, version int, when string) {
	b.t.Helper()
	if m.edit == nil || m.others != nil {
		return
	}
	for _, path := range []laws.Path{m.edit.Path, m.edit.Removed} {
		if len(path) == 0 {
			continue
		}
		if path[0] == "stringData" {
			path = slices.Concat(laws.Path{"data"}, path[1:])
		}
		want, is := path.Get(m.want[version].Object), path.Get(live.Object)
		if want == nil && !isVoid(is) && path.Get(m.want[1-version].Object) != nil {
			b.fail(m, when, "%s is still %v", path, is)
		}
	}
}

// checkNothing checks that a plan is empty and that nothing drifts.
func (b *batch) checkNothing(version int, when string) {
	b.t.Helper()
	plan, failed := b.plan("plan", b.source(version), b.flags()...)
	if failed != "" && !b.blame(when, failed) {
		b.t.Errorf("%s: plan fails\n%s", when, failed)
	}
	out, errs, code := b.muster("drift", b.source(version), "-o", "json")
	var drift struct {
		Objects []struct {
			Kind, Name string
			Drifted    bool
			Fields     []map[string]any
		}
	}
	if err := json.Unmarshal([]byte(out), &drift); err != nil || code == 1 {
		b.t.Errorf("%s: drift ends with exit code %d\n%s", when, code, errs)
	}
	for _, m := range b.members {
		if m.failed {
			continue
		}
		if p, found := plan[m.key()]; found {
			b.fail(m, when, "a plan is not empty: %v", p)
		}
		for _, d := range drift.Objects {
			if d.Drifted && d.Kind+"/"+d.Name == m.key() {
				b.fail(m, when, "it drifts: %v", d.Fields)
			}
		}
	}
}

// fix removes what others have added, and reports whether this succeeds. What fails is blamed: one
// such object keeps the whole fix from being done.
func (b *batch) fix() bool {
	b.t.Helper()
	out, errs, code := b.muster("drift", b.source(0), "--fix", "--yes")
	if code == 0 || code == 2 { // what drifts still is found by the next comparison
		return true
	}
	if !b.blame("a fix", failures(out+errs)) {
		b.t.Fatalf("drift --fix ends with exit code %d\n%s%s", code, out, errs)
	}
	return false
}

// rollBack restores the revision before the update, and checks that the plan before it showed that.
// It reports whether the run succeeds: objects that fail are blamed.
func (b *batch) rollBack() bool {
	b.t.Helper()
	source := b.source(0)
	if b.app {
		source = source[:2]
	}
	plan, failed := b.plan("rollback --dry-run", source, b.flags()...)
	before := b.read()
	out, errs, code := b.muster("rollback --yes", source, append(b.flags(), limit)...)
	if failed += failures(out + errs); code != 0 {
		if !b.blame("a rollback", failed) {
			b.t.Errorf("a rollback ends with exit code %d\n%s", code, failed)
		}
		return false
	}
	b.checkPlan("a rollback", plan, before)
	return true
}

// destroy removes the set, and checks that nothing is left.
func (b *batch) destroy() {
	b.t.Helper()
	source := b.source(0)
	if b.app {
		source = source[:2]
	}
	out, errs, code := b.muster("destroy", source, "--yes", "--allow-delete=*")
	if code != 0 {
		b.t.Errorf("destroy ends with exit code %d\n%s%s", code, failures(out), errs)
	}
	left := b.live()
	for _, m := range slices.Concat(b.members, b.dropped) {
		if left[m.key()] != nil {
			b.fail(m, "destroy", "it is left")
		}
	}
}

// remove deletes what a failed test has left outside of its namespace.
func (b *batch) remove() {
	for _, m := range slices.Concat(b.members, b.dropped) {
		if m.versions[0].GetNamespace() == "" {
			_ = b.resources(m.Object).Delete(context.Background(), m.versions[0].GetName(),
				metav1.DeleteOptions{})
		}
	}
}
