package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// timesEnv is the environment variable with how often each script runs, all at once: a script that
// fails beside itself depends on load, or on what others do. With 50, NAME becomes NAME_1 to
// NAME_50.
const timesEnv = "MUSTER_E2E_TIMES"

// scripts is the folder with a folder of scripts for each test.
var scripts = "testdata"

// repeatScripts makes scripts a folder with links to each script, if timesEnv asks for it.
func repeatScripts(temp string) error {
	text := os.Getenv(timesEnv)
	if text == "" {
		return nil
	}
	times, err := strconv.Atoi(text)
	if err != nil || times < 1 {
		return fmt.Errorf("%s=%s: give a number", timesEnv, text)
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*", "*.txtar"))
	if err != nil {
		return err
	}
	scripts = filepath.Join(temp, "scripts")
	for _, file := range files {
		original, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		dir, name := filepath.Base(filepath.Dir(file)), strings.TrimSuffix(filepath.Base(file), ".txtar")
		if err := os.MkdirAll(filepath.Join(scripts, dir), 0o700); err != nil {
			return err
		}
		for i := range times {
			link := filepath.Join(scripts, dir, fmt.Sprintf("%s_%d.txtar", name, i+1))
			if err := os.Symlink(original, link); err != nil {
				return err
			}
		}
	}
	return nil
}
