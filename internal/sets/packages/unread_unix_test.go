//go:build unix

package packages

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// TestPipes opens packages in which one of the files that are read is a pipe.
func TestPipes(t *testing.T) {
	for name, want := range map[string]string{
		"Kptfile":        "Kptfile: it is a named pipe, not a regular file",
		".krmignore":     ".krmignore: it is a named pipe, not a regular file",
		"a.yaml":         "a.yaml: it is a named pipe, not a regular file; remove it, or leave",
		"sub/b.json":     "sub/b.json: it is a named pipe, not a regular file; remove it, or leave",
		policy.RulesName: policy.RulesName + ": it is a named pipe, not a regular file",
		"Kustomization":  "Kustomization: it is a named pipe, not a regular file",
	} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "resourcegroup.yaml"), string(groupAt().Text()))
		writeFile(t, filepath.Join(dir, "sub", "note"), "")
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), Input{Folder: dir})
		if name == policy.RulesName {
			_, err = policy.ReadRules(t.Context(), nil, dir)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInterruptedStream ends reading when the context ends.
func TestInterruptedStream(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, w := io.Pipe()
	defer w.Close()
	if _, err := Open(ctx, Input{Folder: Stdin, Stream: r}); !errors.Is(err, context.Canceled) {
		t.Errorf("Open = %v", err)
	}
	dir := t.TempDir()
	pipe, other := filepath.Join(dir, "a"), filepath.Join(dir, "b") // each has other readers
	if err := errors.Join(syscall.Mkfifo(pipe, 0o666), syscall.Mkfifo(other, 0o666)); err != nil {
		t.Fatal(err)
	}
	if _, err := policy.ReadRules(ctx, []string{pipe}); !errors.Is(err, context.Canceled) {
		t.Errorf("ReadRules = %v", err)
	}
	if _, err := operation.ReadPlan(ctx, pipe); !errors.Is(err, context.Canceled) {
		t.Errorf("ReadPlan = %v", err)
	}
	go func() { _ = os.WriteFile(other, nil, 0o666) }()
	if _, err := policy.ReadRules(t.Context(), []string{other}); err != nil {
		t.Errorf("ReadRules = %v", err)
	}
}
