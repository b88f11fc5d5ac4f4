package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// role is what a tool is in the comparison.
type role int

const (
	peer    role = iota // what muster is compared with
	ours                // muster
	earlier             // an earlier build of muster
	base                // the floor
	bound               // the floor, and a watch until all objects are ready
)

// tool is one of those that are compared. In its arguments {dir} stands for the folder of the
// package, {objects} for the folder in it that holds nothing but manifests, {chart} for a chart of
// the same manifests, and {ns} for the namespace of the record.
type tool struct {
	name    string
	program string // on the PATH; empty for this program itself
	role    role
	create  []string
	apply   []string // for what was created before; nil: the same as create
	large   []string // more arguments of both, for objects too large for last-applied annotations
	destroy []string
	clear   []string       // destroy that does not mind what is missing; only the floor's
	status  []string       // shows the state of a package; nil: not measured
	version []string       // nil: not measured
	probe   []string       // a command; "unknown command" means that the tool cannot take part
	view    []string       // create for which --output is given; nil: not measured
	ready   *regexp.Regexp // the line that reports a ready object, with its name
	once    bool           // it can only create and delete
}

// tools are all that take part if they are there. The floor is the first.
var tools = []tool{
	{
		name: "floor", role: base, once: true,
		create:  []string{"floor", "create", "{objects}"},
		destroy: []string{"floor", "delete", "{objects}"},
		clear:   []string{"floor", "clear", "{objects}"},
	},
	{
		name: "floor-ready", role: bound, once: true,
		create:  []string{"floor", "ready", "{objects}"},
		destroy: []string{"floor", "delete", "{objects}"},
	},
	{
		name: "muster", program: "muster", role: ours,
		create:  []string{"apply", "{dir}", "--reconcile-timeout=10m"},
		large:   []string{"--server-side"},
		destroy: []string{"destroy", "{dir}", "--yes"},
		status:  []string{"status", "{dir}"},
		version: []string{"version"},
		view:    []string{"apply", "{dir}", "--yes", "--reconcile-timeout=10m"},
		ready:   regexp.MustCompile(`^deployment\.apps/(\S+) reconciled$`),
	},
	{
		name: "muster-app", program: "muster", role: ours,
		create:  []string{"deploy", "-a", "bench", "-n", "{ns}", "-f", "{objects}", "--yes"},
		destroy: []string{"delete", "-a", "bench", "-n", "{ns}", "--yes"},
		probe:   []string{"deploy"},
		view: []string{
			"apply", "-a", "bench", "-n", "{ns}", "-f", "{objects}", "--yes", "--reconcile-timeout=10m",
		},
		ready: reconciledByApp,
	},
	{
		name: "kpt", program: "kpt",
		create:  []string{"live", "apply", "{dir}", "--reconcile-timeout=10m"},
		large:   []string{"--server-side"},
		destroy: []string{"live", "destroy", "{dir}"},
		version: []string{"version"},
		ready:   regexp.MustCompile(`^deployment\.apps/(\S+) reconcile successful$`),
	},
	{
		name: "kapp", program: "kapp",
		create:  []string{"deploy", "-a", "bench", "-n", "{ns}", "-f", "{objects}", "--yes"},
		destroy: []string{"delete", "-a", "bench", "-n", "{ns}", "--yes"},
		version: []string{"version"},
		ready:   reconciledByApp,
	},
	{
		name: "helm", program: "helm",
		create:  []string{"install", "bench", "{chart}", "-n", "{ns}", "--wait", "--timeout=10m"},
		apply:   []string{"upgrade", "bench", "{chart}", "-n", "{ns}", "--wait", "--timeout=10m"},
		destroy: []string{"uninstall", "bench", "-n", "{ns}", "--wait", "--timeout=10m"},
		version: []string{"version"},
	},
	{
		name: "kubectl", program: "kubectl",
		create:  []string{"apply", "-f", "{objects}"},
		destroy: []string{"delete", "-f", "{objects}"},
		version: []string{"version", "--client"},
	},
	{
		name: "kubectl-ssa", program: "kubectl",
		create:  []string{"apply", "--server-side", "-f", "{objects}"},
		destroy: []string{"delete", "-f", "{objects}"},
	},
}

// reconciledByApp is kapp's line about an object that is ready, in which its kind comes before its
// name.
var reconciledByApp = regexp.MustCompile(`ok: reconcile deployment/(\S+) `)

// withEarlier adds the tools of another build of muster, named by its path, to those of this one.
func withEarlier(program string) {
	for _, t := range tools {
		if t.role == ours {
			t.name, t.program, t.role = t.name+"-before", program, earlier
			tools = append(tools, t)
		}
	}
}

// withServerSide adds the tools of muster with server-side apply.
func withServerSide() {
	for _, t := range tools {
		if t.role == ours {
			t.name += "-ssa"
			t.create = append(slices.Clip(t.create), "--server-side")
			t.view = append(slices.Clip(t.view), "--server-side")
			t.large, t.status, t.version = nil, nil, nil
			tools = append(tools, t)
		}
	}
}

// findTools returns the named tools, or all. It prints which tools are not installed and leaves
// them out.
func findTools(ctx context.Context, wanted []string) ([]tool, error) {
	for _, name := range wanted {
		if !slices.ContainsFunc(tools, func(t tool) bool { return t.name == name }) {
			return nil, fmt.Errorf("there is no tool %q", name)
		}
	}
	var found []tool
	for _, t := range tools {
		if len(wanted) > 0 && !slices.Contains(wanted, t.name) {
			continue
		}
		if lack := t.lack(ctx); lack != "" {
			fmt.Fprintf(os.Stderr, "bench: %s is left out: %s\n", t.name, lack)
			continue
		}
		found = append(found, t)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no tool is left")
	}
	return found, nil
}

// lack returns the reason why a tool cannot take part, or nothing.
func (t tool) lack(ctx context.Context) string {
	if t.program == "" {
		return ""
	}
	if _, err := exec.LookPath(t.program); err != nil {
		return t.program + " is not on the PATH"
	}
	if t.probe == nil {
		return ""
	}
	// How the command ends says nothing: what it needs is not given.
	answer, _ := exec.CommandContext(ctx, t.program, t.probe...).CombinedOutput()
	if strings.Contains(string(answer), "unknown command") {
		return fmt.Sprintf("%s does not know the command %q", t.program, t.probe[0])
	}
	return ""
}

// fill puts what the placeholders stand for into arguments.
func (p *pack) fill(args []string) []string {
	replace := strings.NewReplacer(
		"{dir}",
		p.dir,
		"{objects}",
		p.objects(),
		"{chart}",
		p.chart(),
		"{ns}",
		p.home,
	)
	filled := make([]string, len(args))
	for i, arg := range args {
		filled[i] = replace.Replace(arg)
	}
	return filled
}
