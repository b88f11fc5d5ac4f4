package kapp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/policy/filter"
	"github.com/muster-deploy/muster/internal/sets/policy/preflight"
)

// appFlags are the flags that identify an app and its namespaces.
type appFlags struct {
	namespace    string
	name         string
	appNamespace string
}

func (f *appFlags) add(cmd *cobra.Command) {
	addNamespace(cmd, &f.namespace)
	cmd.Flags().
		StringVarP(&f.name, "app", "a", "", "Set app name (or label selector) (format: name, "+
			"label:key=val, !key)")
	addAppNamespace(cmd, &f.appNamespace)
}

func addNamespace(cmd *cobra.Command, namespace *string) {
	cmd.Flags().
		StringVarP(namespace, "namespace", "n", "", "Specified namespace ($KAPP_NAMESPACE or "+
			"default from kubeconfig)")
}

func addAppNamespace(cmd *cobra.Command, namespace *string) {
	cmd.Flags().StringVar(namespace, "app-namespace", "", "Set app namespace (to store app state)")
}

// fileFlags are the flags that name manifests.
type fileFlags struct {
	files []string
	sort  bool
}

func (f *fileFlags) add(cmd *cobra.Command) {
	cmd.Flags().
		StringSliceVarP(&f.files, "file", "f", nil, "Set file (format: /tmp/foo, https://..., -) "+
			"(can be specified multiple times)")
	cmd.Flags().BoolVar(&f.sort, "sort", true, "Sort by namespace, name, etc.")
}

// diffFlags are the flags for printing changes.
type diffFlags struct {
	run, exitStatus, page      bool
	summary, changes, asYAML   bool
	context                    int
	numbers, mask, lastApplied bool
	filter                     string
	anchored                   bool
}

// add adds the flags, with a prefix that ends with a hyphen or is empty.
func (f *diffFlags) add(cmd *cobra.Command, prefix string) {
	flags := cmd.Flags()
	flags.BoolVar(&f.run, prefix+"run", false,
		"Show diff and exit successfully without any further action")
	flags.BoolVar(&f.exitStatus, prefix+"exit-status", false,
		"Return specific exit status based on number of changes")
	flags.BoolVar(&f.page, prefix+"ui-alpha", false,
		"Serve the graph of changes to a browser, and wait")
	flags.BoolVar(&f.summary, prefix+"summary", true, "Show diff summary")
	flags.BoolVarP(&f.changes, prefix+"changes", "c", false, "Show changes")
	flags.BoolVar(&f.asYAML, prefix+"changes-yaml", false, "Print YAML to be applied")
	flags.IntVar(&f.context, prefix+"context", 2,
		"Show number of lines around changed lines; negative for all")
	flags.BoolVar(&f.numbers, prefix+"line-numbers", true, "Show line numbers")
	flags.BoolVar(&f.mask, prefix+"mask", true, "Apply masking rules")
	flags.BoolVar(&f.lastApplied, prefix+"against-last-applied", true,
		"Show changes against last applied copy when possible")
	flags.StringVar(
		&f.filter,
		prefix+"filter",
		"",
		`Set changes filter (example: {"and":[{"ops":["update"]},`+
			`{"existingResource":{"kinds":["Deployment"]}}]})`,
	)
	flags.BoolVar(&f.anchored, prefix+"anchored", false,
		"Show changes by anchored diff if there are more than 500 lines")
}

// filterFlags are the flags that filter resources.
type filterFlags struct{ filter.Flags }

func (f *filterFlags) add(cmd *cobra.Command) {
	f.Add(cmd.Flags())
}

// kindFlags are the flags that limit the search for the objects of an app.
type kindFlags struct {
	ignoreFailing bool
	onlyFallback  bool
}

// options returns the options of the flags.
func (f *kindFlags) options() app.SearchOptions {
	return app.SearchOptions{IgnoreFailing: f.ignoreFailing, OnlyFallback: f.onlyFallback}
}

func (f *kindFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.ignoreFailing, "dangerous-ignore-failing-api-services", false,
		"Allow to ignore failing APIServices")
	flags.BoolVar(&f.onlyFallback, "dangerous-scope-to-fallback-allowed-namespaces", false,
		"Scope resource searching to fallback allowed namespaces")
}

// checkList is the value of a flag that names preflight checks.
type checkList []string

// Set adds names that commas separate.
func (l *checkList) Set(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		if !preflight.Exists(name) {
			return fmt.Errorf("unknown preflight check %q specified", name)
		}
		if !slices.Contains(*l, name) {
			*l = append(*l, name)
		}
	}
	return nil
}

// String returns the names in the form that Set reads.
func (l *checkList) String() string { return strings.Join(*l, ",") }

// Type returns the type of the flag for the help.
func (l *checkList) Type() string { return "strings" }
