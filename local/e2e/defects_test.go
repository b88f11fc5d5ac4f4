package e2e

import (
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/muster-deploy/muster/local/mutants/defect"
)

// defectOf returns the value of defect.Env for a script or a test: the number of a defect is the
// same for all, and in the folder in which they record those that they meet each has a file.
func defectOf(name, separator string) string {
	value := os.Getenv(defect.Env)
	if filepath.IsAbs(value) {
		value += separator + name
	}
	return value
}

// defectVariable returns the environment variable of the script for a command.
func defectVariable(ts *testscript.TestScript) string {
	return defect.Env + "=" + ts.Getenv(defect.Env)
}
