package kubectl

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// fileFlags are the flags whose values are files. The values of those that end with "=" begin with
// a key.
var fileFlags = []string{"-f", "--filename", "-k", "--kustomize", "--patch-file", "--kubeconfig",
	"--from-env-file", "--cert", "--key", "--cache-dir", "--from-file="}

// absolute returns arguments in which the files do not depend on the folder of the process, nor on
// its standard input, for which the file input stands.
func absolute(dir, input string, args []string) []string {
	args = append([]string(nil), args...)
	for i, arg := range args {
		for _, flag := range fileFlags {
			name, keyed := strings.CutSuffix(flag, "=")
			if arg == name && i+1 < len(args) {
				args[i+1] = absoluteFile(dir, input, args[i+1], keyed)
			} else if value, ok := strings.CutPrefix(arg, name+"="); ok {
				args[i] = name + "=" + absoluteFile(dir, input, value, keyed)
			}
		}
	}
	return args
}

func absoluteFile(dir, input, value string, keyed bool) string {
	key, file := "", value
	if before, after, found := strings.Cut(value, "="); keyed && found {
		key, file = before+"=", after
	}
	switch {
	case file == "-":
		return key + input
	case filepath.IsAbs(file) || strings.Contains(file, "://"):
		return value
	}
	return key + filepath.Join(dir, file)
}

// standardInput returns the name of an open file in this process.
func standardInput(in io.Reader) string {
	file, ok := in.(*os.File)
	if !ok {
		return os.DevNull
	}
	return fmt.Sprintf("/dev/fd/%d", file.Fd())
}
