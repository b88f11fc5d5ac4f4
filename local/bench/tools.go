package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// tool is one of those that are compared. In its arguments {dir} stands for the folder of the package, {objects} for the
// folder in it that holds nothing but manifests, and {ns} for the namespace of all objects.
type tool struct {
	name           string
	program        string // on the PATH; empty for this program itself
	apply, destroy []string
	trace          []string       // more arguments, with which it shows its requests on the standard error
	ready          *regexp.Regexp // the line on the standard output that tells of an object that is ready, by its name
	once           bool           // it can only create and delete
}

var tools = []tool{
	{
		name:    "floor",
		apply:   []string{"floor", "create", "{objects}"},
		destroy: []string{"floor", "delete", "{objects}"},
		trace:   []string{"-v=6"},
		once:    true,
	},
	{
		name: "muster", program: "muster",
		apply:   []string{"apply", "{dir}", "--reconcile-timeout=10m"},
		destroy: []string{"destroy", "{dir}"},
		trace:   []string{"-v=6"},
		ready:   regexp.MustCompile(`^deployment\.apps/(\S+) reconciled$`),
	},
	{
		name: "kpt", program: "kpt",
		apply:   []string{"live", "apply", "{dir}", "--reconcile-timeout=10m"},
		destroy: []string{"live", "destroy", "{dir}"},
		trace:   []string{"-v=6"},
		ready:   regexp.MustCompile(`^deployment\.apps/(\S+) reconcile successful$`),
	},
	{
		name: "kapp", program: "kapp",
		apply:   []string{"deploy", "-a", "bench", "-n", "{ns}", "-f", "{objects}", "--yes"},
		destroy: []string{"delete", "-a", "bench", "-n", "{ns}", "--yes"},
		ready:   regexp.MustCompile(`ok: reconcile deployment/(\S+) `),
	},
	{
		name: "kubectl", program: "kubectl",
		apply:   []string{"apply", "-f", "{objects}"},
		destroy: []string{"delete", "-f", "{objects}"},
		trace:   []string{"-v=6"},
	},
	{
		name: "kubectl-ssa", program: "kubectl",
		apply:   []string{"apply", "--server-side", "-f", "{objects}"},
		destroy: []string{"delete", "-f", "{objects}"},
		trace:   []string{"-v=6"},
	},
}

// findTools gives the named tools, or all. Those that are not on the PATH are left out, which is said.
func findTools(named string) ([]tool, error) {
	wanted := slices.DeleteFunc(strings.Split(named, ","), func(name string) bool { return name == "" })
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
		if _, err := exec.LookPath(t.program); t.program != "" && err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s is left out: %s is not on the PATH\n", t.name, t.program)
			continue
		}
		found = append(found, t)
	}
	return found, nil
}

// fill puts what the placeholders stand for into arguments.
func (p *pack) fill(args []string) []string {
	replace := strings.NewReplacer("{dir}", p.dir, "{objects}", p.objects(), "{ns}", p.namespace)
	filled := make([]string, len(args))
	for i, arg := range args {
		filled[i] = replace.Replace(arg)
	}
	return filled
}
