package cli

import (
	"runtime/debug"
	"testing"
)

// The build has what Go recorded about version control.
func TestNewBuild(t *testing.T) {
	if b := newBuild(nil); b.Commit != "" || b.GoVersion == "" || b.Platform == "" {
		t.Errorf("without information: %+v", b)
	}
	b := newBuild(&debug.BuildInfo{Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
		{Key: "vcs.modified", Value: "true"},
	}})
	if b.Commit != "abc" || b.CommitTime != "2026-01-02T03:04:05Z" || !b.Modified {
		t.Errorf("got %+v", b)
	}
}

// Under the name kpt the version is printed as kpt prints it.
func TestKptVersion(t *testing.T) {
	b := build{Version: "v1", Commit: "abc", Modified: true}
	if got, want := b.kptText(false), "Version: v1\nGit commit: abc (dirty)\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (build{Version: "v1"}).kptText(false), "Version: v1\n"; got != want {
		t.Errorf("without commit: got %q, want %q", got, want)
	}
	if got, want := b.kptText(true), "v1\n"; got != want {
		t.Errorf("short: got %q, want %q", got, want)
	}
	unknown := build{Version: unversioned, Commit: "0123456789"}
	if got, want := unknown.kptText(true), "0123456\n"; got != want {
		t.Errorf("short without version: got %q, want %q", got, want)
	}
	if got, want := unknown.kptText(false), "Version: unknown\nGit commit: 0123456789\n"; got != want {
		t.Errorf("without version: got %q, want %q", got, want)
	}
	if got, want := (build{Version: unversioned}).kptText(true), "unknown\n"; got != want {
		t.Errorf("short without anything: got %q, want %q", got, want)
	}
}
