// Package boundedio reads whole files and streams up to a limit, and does not block on pipes.
package boundedio

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// MaxBytes limits the size of one file or stream.
const MaxBytes = 50 << 20

var (
	errTooLarge = fmt.Errorf("it holds more than %d bytes, the limit of one file", MaxBytes)
	errDangling = errors.New("it is a symbolic link that leads nowhere")
	errLeaves   = errors.New("it is a symbolic link that leads out of its folder, and such links " +
		"are not followed")
)

// ReadFile returns the content of a regular file. It follows symbolic links. It returns an error
// for pipes, sockets and devices without opening them, and for more than MaxBytes.
func ReadFile(path string) ([]byte, error) {
	return read(path, os.Stat, func(name string) (io.ReadCloser, error) { return os.Open(name) })
}

// ReadIfExists reads a file as ReadFile does, and reports whether it exists. A symbolic link that
// leads nowhere exists, and is an error.
func ReadIfExists(path string) (text []byte, exists bool, err error) {
	text, err = ReadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return text, true, err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return nil, true, &fs.PathError{Op: "read", Path: path, Err: errDangling}
}

// ReadIn reads a file of a folder as ReadIfExists does. The folder may be a symbolic link. A link
// in it that leads out of it, and any absolute one, is an error.
func ReadIn(dir, name string) (text []byte, exists bool, err error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, true, err
	}
	defer root.Close()
	at := filepath.Join(dir, filepath.FromSlash(name))
	info, err := root.Lstat(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	isLink := err == nil && info.Mode()&fs.ModeSymlink != 0
	text, err = ReadFS(root.FS(), name)
	failure := (*fs.PathError)(nil)
	switch {
	case err == nil:
		return text, true, nil
	case isLink && errors.Is(err, fs.ErrNotExist):
		err = errDangling
	case errors.As(err, &failure):
		err = failure.Err
		if _, escapes := root.Stat(filepath.FromSlash(name)); isLink && isEscape(escapes) {
			err = errLeaves
		}
	}
	return nil, true, &fs.PathError{Op: "read", Path: at, Err: err}
}

// ReadFileIn reads a file of a folder as ReadIn does. A file that does not exist is an error.
func ReadFileIn(dir, name string) ([]byte, error) {
	text, exists, err := ReadIn(dir, name)
	if !exists {
		err = &fs.PathError{Op: "open", Path: filepath.Join(dir, name), Err: fs.ErrNotExist}
	}
	return text, err
}

// isEscape reports whether an error of a root is no error of the system: it refused a path.
func isEscape(err error) bool {
	return err != nil && !errors.As(err, new(syscall.Errno))
}

// ReadFS reads a file of a file system as ReadFile does.
func ReadFS(from fs.FS, path string) ([]byte, error) {
	return read(path, func(name string) (fs.FileInfo, error) { return fs.Stat(from, name) },
		func(name string) (io.ReadCloser, error) { return from.Open(name) })
}

func read(path string, stat func(string) (fs.FileInfo, error),
	open func(string) (io.ReadCloser, error)) ([]byte, error) {
	size := int64(0)
	if info, err := stat(path); err == nil { // otherwise opening it reports the error
		if err := CheckMode(path, info.Mode()); err != nil {
			return nil, err
		}
		size = info.Size()
	}
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readFile(path, f, size)
}

// ReadAnswer reads what a server sends, up to a number of bytes. size is the length that it has
// declared, -1 if it has not: more than the limit is not read. It reports whether that is too much.
func ReadAnswer(from io.Reader, size, most int64) (text []byte, tooLarge bool, err error) {
	if size > most {
		return nil, true, nil
	}
	text, err = readUpTo(from, max(size, 0), most)
	if err == errTooLarge {
		return nil, true, nil
	}
	return text, false, err
}

// ReadNamed reads a file that a user named: pipes and character devices too, as the shell's <(…)
// and /dev/stdin. It returns when the context ends.
func ReadNamed(ctx context.Context, path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice) == 0 {
		return ReadFile(path)
	}
	return wait(ctx, func() ([]byte, error) {
		f, err := os.Open(path) // waits for somebody who writes into the pipe
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readFile(path, f, 0)
	})
}

// readFile reads an open file as readAll does, with errors that name it.
func readFile(path string, f io.Reader, size int64) ([]byte, error) {
	text, err := readAll(f, size)
	if err == errTooLarge {
		err = &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return text, err
}

// ReadStream reads a stream to its end. It returns when the context ends.
func ReadStream(ctx context.Context, stream io.Reader) ([]byte, error) {
	return wait(ctx, func() ([]byte, error) { return readAll(stream, 0) })
}

// wait returns the result of a function that may block, or the cause why the context ended. The
// goroutine of a function that still blocks then lasts as long as the process.
func wait(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	done := make(chan struct{})
	var all []byte
	var failure error
	go func() {
		defer close(done)
		all, failure = read()
	}()
	select {
	case <-done:
		return all, failure
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// readAll reads at most MaxBytes. size is the expected number of bytes; 0 if unknown.
func readAll(from io.Reader, size int64) ([]byte, error) {
	return readUpTo(from, size, MaxBytes)
}

// readUpTo reads a number of bytes as readAll does.
func readUpTo(from io.Reader, size, most int64) ([]byte, error) {
	if size > most {
		return nil, errTooLarge
	}
	limited := &io.LimitedReader{R: from, N: most + 1}
	text := make([]byte, 0, size+512)
	for {
		n, err := limited.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case int64(len(text)) > most:
			return nil, errTooLarge
		case err == io.EOF:
			return text, nil
		case err != nil:
			return nil, err
		case len(text) == cap(text):
			text = append(text, 0)[:len(text)]
		}
	}
}

// CheckMode returns an error for the mode of a pipe, a socket or a device.
func CheckMode(path string, mode fs.FileMode) error {
	what := ""
	switch {
	case mode&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	default:
		return nil
	}
	err := errors.New("it is " + what + ", not a regular file")
	return &fs.PathError{Op: "read", Path: path, Err: err}
}

// Unpacker unpacks texts in the format of gzip, up to a number of bytes in all. What is packed may
// unpack to a thousand times its size.
type Unpacker struct{ most, left int }

// NewUnpacker returns an Unpacker for a number of bytes.
func NewUnpacker(most int) *Unpacker { return &Unpacker{most, most} }

// Gunzip returns a text unpacked. It returns an error for more bytes than are left.
func (u *Unpacker) Gunzip(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, int64(u.left)+1))
	if err != nil {
		return nil, err
	}
	if len(text) > u.left {
		return nil, fmt.Errorf("it unpacks to more than %d MiB", u.most>>20)
	}
	u.left -= len(text)
	return text, nil
}

// Gzip returns a text packed in the format of gzip, the same for the same text.
func Gzip(text []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(text)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(fmt.Sprintf("compress into memory: %v", err)) // cannot happen
	}
	return b.Bytes()
}
