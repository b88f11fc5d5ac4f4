package main

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

// TestLimitMemory: the limit of the container counts, and that of the environment more.
func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	limited, none := file("limited", "536870912\n"), file("none", "max\n")
	old := file("old", "9223372036854771712\n")
	for _, test := range []struct {
		name  string
		env   map[string]string
		files []string
		want  int64
	}{
		{"nothing", nil, []string{none, old, filepath.Join(dir, "gone")}, unlimited},
		{"the container", nil, []string{none, limited}, 536870912 / 5 * 4},
		{"the pod", map[string]string{memoryEnv: "1000000000"}, []string{limited}, 800000000},
		{"the runtime", map[string]string{"GOMEMLIMIT": "x"}, []string{limited}, unlimited},
	} {
		debug.SetMemoryLimit(math.MaxInt64)
		got := limitMemory(func(name string) string { return test.env[name] }, test.files)
		if got != test.want {
			t.Errorf("%s: %d bytes, want %d", test.name, got, test.want)
		}
	}
}
