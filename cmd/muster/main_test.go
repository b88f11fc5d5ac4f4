package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"muster": main, "kpt": main, "kapp": main})
}

// TestScript runs the program as a user would, as far as no cluster is needed.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir) // no kubeconfig but the scripts' own
			return nil
		},
		Condition: func(name string) (bool, error) {
			path, ok := strings.CutPrefix(name, "exists:")
			if !ok {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			_, err := os.Stat(path)
			return err == nil, nil
		},
	})
}
