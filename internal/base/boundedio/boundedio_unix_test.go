//go:build unix

package boundedio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestReadFile reads a regular file, also through a link, and refuses what would block or never
// end.
func TestReadFile(t *testing.T) {
	t.Chdir(t.TempDir())
	listener, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, err := range []error{
		os.WriteFile("a", []byte("text"), 0o666), os.Symlink("a", "link"), os.Mkdir("folder", 0o777),
		syscall.Mkfifo("pipe", 0o666), os.Symlink("pipe", "to-pipe"), os.Symlink("/dev/zero", "zero"),
		os.WriteFile("huge", nil, 0o666), os.Truncate("huge", MaxBytes+1),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"a": "", "link": "",
		"pipe":    "read pipe: it is a named pipe, not a regular file",
		"to-pipe": "read to-pipe: it is a named pipe, not a regular file",
		"zero":    "read zero: it is a device, not a regular file",
		"socket":  "read socket: it is a socket, not a regular file",
		"folder":  "read folder: is a directory",
		"huge":    "read huge: it holds more than 52428800 bytes, the limit of one file",
		"none":    "open none: no such file or directory",
	} {
		text, err := ReadFile(name)
		fromFS, errFS := ReadFS(os.DirFS("."), name)
		if want == "" && (err != nil || errFS != nil || string(text) != "text" ||
			string(fromFS) != "text") || want != "" &&
			(err == nil || errFS == nil || err.Error() != want ||
				strings.Replace(errFS.Error(), "./", "", 1) != want) {
			t.Errorf("%s: %q, errors %v and %v; want %s", name, text, err, errFS, want)
		}
	}
}

// TestReadIfExists checks that only a file that does not exist is none.
func TestReadIfExists(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, err := range []error{
		os.WriteFile("a", []byte("text"), 0o666), os.Symlink("nowhere", "dangling"),
		os.Symlink("circle", "circle"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"a": "text true <nil>", "none": " false <nil>",
		"dangling": " true read dangling: it is a symbolic link that leads nowhere",
		"circle":   " true open circle: too many levels of symbolic links",
	} {
		text, exists, err := ReadIfExists(name)
		if got := fmt.Sprintf("%s %v %v", text, exists, err); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// TestReadNamed reads pipes, and stops when the context ends.
func TestReadNamed(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(pipe, []byte("text"), 0o666) }()
	if text, err := ReadNamed(t.Context(), pipe); err != nil || string(text) != "text" {
		t.Errorf("ReadNamed = %q, %v", text, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	cancel(interrupted)
	if _, err := ReadNamed(ctx, pipe); !errors.Is(err, interrupted) {
		t.Errorf("ReadNamed after the end = %v", err)
	}
	r, w := io.Pipe()
	defer w.Close()
	if _, err := ReadStream(ctx, r); !errors.Is(err, interrupted) {
		t.Errorf("ReadStream after the end = %v", err)
	}
	if text, err := ReadStream(t.Context(), strings.NewReader("text")); string(text) != "text" {
		t.Errorf("ReadStream = %q, %v", text, err)
	}
}
