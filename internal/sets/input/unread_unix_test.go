//go:build unix

package input

import (
	"os"
	"syscall"
	"testing"
)

// TestPipes refuses pipes and devices in a folder, and reads a pipe that is named, as the shell's
// <(…) is.
func TestPipes(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, err := range []error{
		os.Mkdir("pipes", 0o777), syscall.Mkfifo("pipes/x.yaml", 0o666),
		os.Mkdir("devices", 0o777), os.Symlink("/dev/zero", "devices/x.yaml"),
		os.Mkdir("huge", 0o777), os.WriteFile("huge/x.yaml", nil, 0o666),
		os.Truncate("huge/x.yaml", 256<<20+1),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	expect(t, Options{}, "pipes", "read pipes/x.yaml: it is a named pipe, not a regular file")
	expect(t, Options{}, "devices", "read devices/x.yaml: it is a symbolic link that leads out of "+
		"its folder, and such links are not followed")
	expect(t, Options{}, "huge",
		"read huge/x.yaml: it holds more than 52428800 bytes, the limit of one file")
	go func() { _ = os.WriteFile("pipes/x.yaml", []byte(configMap), 0o666) }()
	expect(t, Options{}, "pipes/x.yaml", "file 'pipes/x.yaml' doc 1: configmap/a (v1) cluster")
}
