package program

import (
	"io"
	"time"

	"github.com/muster-deploy/muster/internal/base/reference"
	"github.com/muster-deploy/muster/internal/cli"
)

// documented returns an environment under a name, for commands that are described and not run.
func documented(name string) *cli.Env {
	return &cli.Env{
		Args: []string{name}, Out: io.Discard, Err: io.Discard,
		Getenv: func(string) string { return "" }, Now: time.Now,
	}
}

// Reference returns the pages of the command reference by file name.
func Reference() map[string]string {
	root := reference.Of(Commands(documented("muster")))
	pages := reference.Pages(root,
		reference.Link{Page: "live", Title: "`muster live`, `muster alpha live`",
			Meaning: "the commands of `kpt live`", Names: []string{"live", "alpha"}},
		reference.Link{Page: "kapp", Title: "`muster kapp`, `kapp`",
			Meaning: "the commands of kapp", Names: []string{"kapp"}})
	for _, child := range root.Children {
		if child.Name() == "live" {
			pages["live.md"] = reference.Listing("The grammar of kpt live",
				"These commands have the names, options, outputs and defaults of `kpt live`. "+
					"`muster alpha live` has them as `kpt alpha live` does, and a link to the program "+
					"with the name `kpt` runs them as `kpt live`. "+
					"[Differences](../compat-kpt.md) are listed.", child)
		}
	}
	pages["kapp.md"] = reference.Listing("The grammar of kapp",
		"`muster kapp COMMAND` runs these commands, and so does a link to the program with the name "+
			"`kapp`. They have the names, options, outputs and exit codes of kapp. "+
			"[Differences](../compat-kapp.md) are listed.", reference.Of(Kapp(documented("kapp"))))
	return pages
}

// Manual returns the manual pages by file name.
func Manual(s reference.Source) map[string]string {
	return reference.Manual(reference.Of(Commands(documented("muster"))), s)
}

// ExitCodes returns the page of the exit codes of all commands by its file name.
func ExitCodes() map[string]string {
	root := reference.Of(Commands(documented("muster")))
	return map[string]string{"exit-codes.md": reference.ExitCodes(root)}
}
