package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// unversioned is the version of a build from a work tree without version control.
const unversioned = "devel"

// shortCommit is the length of a commit that stands for the version.
const shortCommit = 7

// version is the version of a release, which the linker sets.
var version string

// Version returns the version of the release or of the module, or "devel" for a build from a work
// tree.
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return unversioned
	}
	return info.Main.Version
}

// build is the JSON of the program's version. Of a build without version control only the first and
// the last two are known.
type build struct {
	Version    string `json:"version"`
	Commit     string `json:"commit,omitempty"`
	CommitTime string `json:"commitTime,omitempty"`
	Modified   bool   `json:"modified,omitempty"` // the work tree had changes
	GoVersion  string `json:"goVersion"`
	Platform   string `json:"platform"`
}

// newBuild returns the build of the program; info may be nil.
func newBuild(info *debug.BuildInfo) build {
	b := build{
		Version: Version(), GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if info == nil {
		return b
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = setting.Value
		case "vcs.time":
			b.CommitTime = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		}
	}
	return b
}

// readBuild returns what Go recorded about the build; nil if it recorded nothing.
func readBuild() *debug.BuildInfo {
	info, _ := debug.ReadBuildInfo()
	return info
}

// text returns the version and, in parentheses, what is known of its build.
func (b build) text() string {
	var known []string
	if b.Commit != "" {
		commit := "commit " + b.Commit[:min(len(b.Commit), shortCommit)]
		if b.CommitTime != "" {
			commit += " of " + b.CommitTime
		}
		if b.Modified {
			commit += ", modified"
		}
		known = append(known, commit)
	}
	known = append(known, b.GoVersion, b.Platform)
	return fmt.Sprintf("%s (%s)", b.Version, strings.Join(known, ", "))
}

// kptProgram is the name of the program under which the version is printed as kpt prints it.
const kptProgram = "kpt"

// kptText returns the lines of kpt version, or the one of kpt version --short. If the version is
// unknown, the short form is the commit's. The line of the commit is left out if it is unknown.
func (b build) kptText(short bool) string {
	version := b.Version
	if version == unversioned {
		version = "unknown"
		if short && b.Commit != "" {
			version = b.Commit[:min(len(b.Commit), shortCommit)]
		}
	}
	if short {
		return version + "\n"
	}
	text := "Version: " + version + "\n"
	if b.Commit == "" {
		return text
	}
	text += "Git commit: " + b.Commit
	if b.Modified {
		text += " (dirty)"
	}
	return text + "\n"
}

func newVersion(env *Env) *cobra.Command {
	output := Choice{Meaning: "output", Allowed: []string{OutputJSON, OutputYAML}}
	short := false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: "Print the version of the program, and the commit, the version of Go and the platform " +
			"that it\nwas built from.",
		Example: "  " + env.Name() + " version -o json",
		Args:    Arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			info := readBuild()
			if output.Value == "" && env.Name() == kptProgram {
				_, err := fmt.Fprint(env.Out, newBuild(info).kptText(short))
				return err
			}
			if output.Value == "" {
				_, err := fmt.Fprintf(env.Out, "%s version %s\n", env.Name(), newBuild(info).text())
				return err
			}
			if err := output.Check(); err != nil {
				return err
			}
			return Encode(env.Out, output.Value, newBuild(info))
		},
	}
	output.AddShortTo(cmd, "output", "o", "Output format")
	cmd.Flags().Bool("client", false,
		"Accepted for compatibility with kubectl: no cluster is contacted")
	if env.Name() == kptProgram {
		cmd.Flags().BoolVar(&short, "short", false, "Print only the version")
	}
	return cmd
}
