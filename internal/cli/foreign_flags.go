package cli

import (
	"cmp"
	"slices"

	"github.com/spf13/cobra"
)

// templateForms are output formats of kubectl that select from an object.
var templateForms = []string{
	"jsonpath", "jsonpath-as-json", "jsonpath-file", "go-template", "go-template-file", "template",
	"custom-columns", "custom-columns-file",
}

// shorthands are the long names of shorthands of kubectl.
var shorthands = map[string]string{
	"A": "all-namespaces", "l": "selector", "w": "watch", "R": "recursive",
}

// foreignFlag is a flag of kubectl or Helm that commands do not have, and what to do instead.
type foreignFlag struct {
	name     string
	commands []string // their names; empty for all
	advice   string
}

// The commands that change a set, and those that show one.
var (
	applying = []string{"apply", "plan", "rollback"}
	showing  = []string{
		"check-access", "diff", "drift", "graph", "history", "inspect", "logs", "status", "tree", "why",
	}
)

// foreignFlags are the flags that users of other tools try.
var foreignFlags = []foreignFlag{
	{"prune", applying, "objects that the set no longer has are pruned anyway; --no-prune keeps them"},
	{"prune-allowlist", applying, "only objects of the set are pruned; --no-prune keeps them"},
	{"force", applying, "--recreate KIND replaces objects whose immutable fields change, and " +
		"--conflicts take-all takes over the fields of others"},
	{"grace-period", nil, "objects are deleted with their own grace period; kubectl delete " +
		"--grace-period shortens that of one object"},
	{"recursive", nil, "folders are read with all folders below them"},
	{"atomic", applying, "--on-failure=rollback of apply does that"},
	{"rollback-on-failure", applying, "--on-failure=rollback of apply does that"},
	{"create-namespace", applying, "a namespace is created if it is one of the objects of the set"},
	{"to-revision", []string{"rollback"}, "--to names the revision, as in 'rollback FOLDER --to 7'"},
	{"cascade", []string{"destroy"}, "use --delete-propagation-policy Background, " +
		"Foreground or Orphan"},
	{"force", []string{"destroy"}, "objects are deleted with their own grace period; kubectl delete " +
		"--force deletes one object at once"},
	{"now", []string{"destroy"}, "objects are deleted with their own grace period; kubectl delete " +
		"--now deletes one object soon"},
	{"all", []string{"destroy"}, "name each set; 'list -A' shows all"},
	{"all-namespaces", []string{"destroy"}, "name each set; 'list -A' shows all"},
	{"selector", []string{"destroy"}, "a set is destroyed as a whole; remove objects from its " +
		"files and apply it to delete some"},
	{"revision", []string{"history"}, "'history show FOLDER 7' shows a revision"},
	{"for", []string{"status"}, "--poll-until current or deleted waits"},
	{"all-pods", []string{"logs"}, "all pods of the set are read anyway"},
	{"all-namespaces", showing, "a set is in one namespace (-n); 'list -A' shows all sets"},
	{"selector", showing, "'inspect -l' selects objects by their labels"},
	{"watch", append([]string{"list"}, showing...),
		"'status --watch' and 'tree --watch' show changes"},
	{"no-headers", nil, "-o name of list and inspect prints names alone, and -o json is for programs"},
	{"show-labels", nil, "kubectl get --show-labels shows the labels of objects"},
}

// adviceFor returns what to do instead of a flag that a command does not have; empty if nothing is
// known of it. The name is that of the flag, or its shorthand.
func adviceFor(cmd *cobra.Command, name string) string {
	name = cmp.Or(shorthands[name], name)
	for _, f := range foreignFlags {
		if f.name == name && (len(f.commands) == 0 || slices.Contains(f.commands, cmd.Name())) {
			return f.advice
		}
	}
	return ""
}
