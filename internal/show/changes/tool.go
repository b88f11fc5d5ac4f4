package changes

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/yamltext"
	"github.com/muster-deploy/muster/internal/object"
)

// Tool is a program of the user that shows the difference of two folders: diff -ru, for example.
type Tool struct {
	Command       string // the program and its arguments, separated by spaces
	Before, After string // the names of the folders
	In            io.Reader
	Out, Err      io.Writer
}

// filesDiffer is the exit code of diff, and of programs like it, for files that differ.
const filesDiffer = 1

// Show runs the program on two folders with a file for each object that changes. The folders are in
// a private temporary folder, which is removed afterwards. Without changes the program is not run.
func (t Tool) Show(ctx context.Context, changes []Change) (err error) {
	words := strings.Fields(t.Command)
	if len(words) == 0 {
		return errors.New("the program for differences has no name")
	}
	folder, err := os.MkdirTemp("", "muster-diff-") // only its owner may read it
	if err != nil {
		return fmt.Errorf("create a folder for differences: %w", err)
	}
	defer func() {
		if removed := os.RemoveAll(folder); err == nil && removed != nil {
			err = fmt.Errorf("remove the folder for differences: %w", removed)
		}
	}()
	before, after := filepath.Join(folder, t.Before), filepath.Join(folder, t.After)
	some := false
	for _, side := range []string{before, after} {
		if err := os.Mkdir(side, 0o700); err != nil {
			return fmt.Errorf("create a folder for differences: %w", err)
		}
	}
	for _, c := range changes {
		name := fileName(c.Ref)
		for side, obj := range map[string]*unstructured.Unstructured{before: c.Before, after: c.After} {
			if obj == nil {
				continue
			}
			some = true
			if err := writeObject(filepath.Join(side, name), obj); err != nil {
				return fmt.Errorf("%s: %w", c.Ref, err)
			}
		}
	}
	if !some {
		return nil
	}
	return t.run(ctx, append(words, before, after))
}

// run runs the program with its arguments.
func (t Tool) run(ctx context.Context, words []string) error {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = t.Out, t.Err
	if file, ok := t.In.(*os.File); ok { // anything else would have to be copied, also if nobody reads
		cmd.Stdin = file
	}
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == filesDiffer {
		return nil
	}
	if err != nil {
		return fmt.Errorf("show the differences by %q: %w", words[0], err)
	}
	return nil
}

// writeObject writes an object to a file that only its owner may read.
func writeObject(path string, obj *unstructured.Unstructured) error {
	text, err := yamltext.Marshal(obj.Object)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the object for the program: %w", err)
	}
	return nil
}

// maxFileName is the length of the names of files, which most file systems limit.
const maxFileName = 200

// fileName returns the name of the file of an object: shop.deployment.apps.web.yaml.
func fileName(ref object.Ref) string {
	words := []string{ref.Namespace, strings.ToLower(ref.Kind), ref.Group, ref.Name}
	name := strings.Join(words, ".")
	name = strings.TrimLeft(strings.ReplaceAll(name, "..", "."), ".")
	name = strings.NewReplacer("/", "_", `\`, "_", ":", "_").Replace(name)
	if len(name) > maxFileName {
		sum := sha256.Sum256([]byte(name))
		name = fmt.Sprintf("%s-%x", name[:maxFileName], sum[:4])
	}
	return name + ".yaml"
}
