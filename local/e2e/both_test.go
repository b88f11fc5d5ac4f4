package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestAsPackage runs the scripts of testdata/both with packages, and TestAsApp with apps. A script
// names the set in a folder by a word, which says what the arguments for it are:
//
//	script                   package                             app
//	init @shop               muster init shop --name shop        (nothing)
//	muster apply @shop       muster apply shop                   muster apply -a shop -f shop
//	muster status @shop      muster status shop                  muster status -a shop
//	muster status @@shop     muster status --record shop         muster status -a shop
//
// $FORMAT is "package" or "app". Lines for one of them alone begin with [package] or [app].
func TestAsPackage(t *testing.T) { runAs(t, "package") }

func TestAsApp(t *testing.T) { runAs(t, "app") }

// runAs runs the scripts of testdata/both with sets of a format.
func runAs(t *testing.T, format string) {
	t.Helper()
	t.Parallel()
	installResourceGroup(t)
	p := linked(params(format), "kapp")
	p.Dir = scriptsAs(t, format)
	setup, condition := p.Setup, p.Condition
	p.Setup = func(env *testscript.Env) error {
		env.Setenv("FORMAT", format)
		return setup(env)
	}
	p.Condition = func(text string) (bool, error) {
		if text == "package" || text == "app" {
			return text == format, nil
		}
		return condition(text)
	}
	testscript.Run(t, p)
}

// scriptsAs writes the scripts of testdata/both for a format into a folder.
func scriptsAs(t *testing.T, format string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(scripts, "both", "*.txtar"))
	check(t, err)
	dir := t.TempDir()
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(t, err)
		text = []byte(scriptAs(string(text), format))
		check(t, os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o600))
	}
	return dir
}

var (
	madeSet  = regexp.MustCompile(`(?m)^init @(\w+)$`)
	namedSet = regexp.MustCompile(`\bmuster ([a-z-]+)([^\n]*?) (@@?)(\w+)([^\n|;&]*)`)
	// withFiles matches the commands that read the manifests of an app, and withoutFiles the flags
	// with which they do not.
	withFiles    = regexp.MustCompile(`^(apply|check-access|deploy|plan|diff|drift|graph|rollback)$`)
	withoutFiles = regexp.MustCompile(`^diff .*--from \w+ --to \w+`)
)

// scriptAs returns a script for sets of a format.
func scriptAs(script, format string) string {
	made := ""
	if format == "package" {
		made = "exec muster init $1 --name $1 --quiet"
	}
	script = madeSet.ReplaceAllString(script, made)
	return namedSet.ReplaceAllStringFunc(script, func(text string) string {
		found := namedSet.FindStringSubmatch(text)
		command, record, name := found[1], found[3] == "@@", found[4]
		line := command + found[2] + found[5]
		set := "-a " + name
		switch {
		case format == "package" && record:
			set = "--record " + name
		case format == "package":
			set = name
		case !record && withFiles.MatchString(command) && !withoutFiles.MatchString(line):
			set += " -f " + name
		}
		return "muster " + command + found[2] + " " + set + found[5]
	})
}
