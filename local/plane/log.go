package plane

import (
	"fmt"
	"io"
	"os"
	"strings"
)

const (
	tailLines = 12
	tailBytes = 16 << 10
)

// tail reads the last lines of a file, without blank ones. A file that cannot be read has none.
func tail(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	if size, err := file.Seek(0, io.SeekEnd); err != nil || size > tailBytes {
		_, err = file.Seek(-tailBytes, io.SeekEnd)
		if err != nil {
			return ""
		}
	} else if _, err := file.Seek(0, io.SeekStart); err != nil {
		return ""
	}
	data, err := io.ReadAll(io.LimitReader(file, tailBytes))
	if err != nil {
		return ""
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimRight(line, "\r\n \t"); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// ComponentError says that a component ended, or did not become healthy in time.
type ComponentError struct {
	Name string // of the component
	Err  error  // what happened
	Log  string // path of its log
	Tail string // last lines of its log, may be empty
}

// Error names the component, what happened, and the end of its log.
func (e *ComponentError) Error() string {
	if e.Tail == "" {
		return fmt.Sprintf("%s: %v (its log %s is empty)", e.Name, e.Err, e.Log)
	}
	return fmt.Sprintf("%s: %v; the end of %s:\n%s", e.Name, e.Err, e.Log, e.Tail)
}

// Unwrap returns the cause.
func (e *ComponentError) Unwrap() error { return e.Err }

// addressInUse reports whether the component ended because another process has its port.
func (e *ComponentError) addressInUse() bool {
	return strings.Contains(e.Tail, "address already in use")
}

func componentError(p paths, name string, err error) *ComponentError {
	return &ComponentError{Name: name, Err: err, Log: p.log(name), Tail: tail(p.log(name))}
}
