//go:build !linux

package kustomize

import "testing"

// watchOpened returns nil: only Linux reports what was opened.
func watchOpened(testing.TB, string) func() []string { return nil }

// watchChildren returns nil: only Linux reports it for all children.
func watchChildren(testing.TB) func() bool { return nil }
