package setflags

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/sets/input/files"
)

// checkArguments returns an error for arguments of a command that takes no files but the folder of
// a package: those beside a flag that names the set, and a second folder. Dropped, they would let
// the command change another set, or another revision, than the user means.
func (f *Flags) checkArguments(args []string) error {
	if len(args) == 0 {
		return nil
	}
	folder, last := args[:len(args)-1], args[len(args)-1]
	hint := f.hintArgument(folder, last)
	given := append(append([]string{}, args...), f.Files...)
	if f.Kustomize != "" {
		given = append(given, f.Kustomize)
	}
	switch {
	case f.Managed != nil:
		return fmt.Errorf("%s is one set, but %s is given, too%s", f.Managed.Title(),
			strings.Join(args, " and "), hint)
	case f.App != "" && f.Record == "":
		return fmt.Errorf("-a %s names an app, but %s is given, too: give either the folder of a "+
			"package or --app, not both%s", f.App, strings.Join(args, " and "), hint)
	case f.Record != "" && f.App == "" && hint != "":
		return fmt.Errorf("--record names a package without its folder: give one of them%s", hint)
	case !f.ByRecord() && len(given) > 1:
		return fmt.Errorf("a package is one folder, but %s were given%s",
			strings.Join(given, " and "), hint)
	}
	return nil
}

// checkManifests returns an error for manifests of an app that the command does not read, or that
// do not exist.
func (f *Flags) checkManifests() error {
	given := f.Manifests()
	if f.noManifests && len(given) > 0 {
		return fmt.Errorf("-a %s names an app, and %s does not read its manifests: omit %s", f.App,
			f.command, strings.Join(given, " and "))
	}
	return files.CheckExist(given)
}

// Manifests returns the manifests of an app that flags name.
func (f *Flags) Manifests() []string {
	switch {
	case f.App == "":
		return nil
	case f.Kustomize == "":
		return f.Files
	}
	return append(slices.Clone(f.Files), f.Kustomize)
}

// CheckRoot returns an error for --root beside a record without files.
func (f *Flags) CheckRoot() error {
	if f.Root == "" || !f.ByRecord() || len(f.Files) > 0 || f.Kustomize != "" {
		return nil
	}
	return errors.New("--root confines the kustomization of a folder, and no folder is given: omit " +
		"--root, or name the folder")
}

// hintArgument returns what could be meant by an argument that a command does not take, after a
// semicolon; empty if that is not known. The folder is the arguments before it.
func (f *Flags) hintArgument(folder []string, arg string) string {
	if hint := f.hintRevision(folder, arg); hint != "" {
		return hint
	}
	if f.command == "drift" && f.App != "" {
		if _, err := os.Stat(arg); err == nil {
			return "; -f " + arg + " names manifests of the app"
		}
	}
	return ""
}

// hintRevision returns how a command takes a revision, after a semicolon; empty if an argument does
// not name one, or the command takes none.
func (f *Flags) hintRevision(folder []string, arg string) string {
	switch {
	case !history.IsName(arg):
		return ""
	case f.command == "rollback":
		return "; a revision is named with --to " + arg
	case f.command == "history":
		words := append(f.RecordWords(folder), arg)
		return fmt.Sprintf("; 'history show %s' shows a revision", strings.Join(words, " "))
	}
	return ""
}
