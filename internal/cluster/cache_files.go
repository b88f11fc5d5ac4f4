package cluster

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// cacheFiles are files of one format in a cache folder.
type cacheFiles struct {
	prefix string // of their names
	mark   string // their first line; it changes with the format
}

// cachedAnswer is a cached response.
type cachedAnswer struct {
	tag  string // ETag or hash
	body []byte // the part that the client needs
}

// oldest is the age at which writing another file removes cache files.
const oldest = 30 * 24 * time.Hour

// name returns the name of the file for a URL.
func (c cacheFiles) name(dir, url string) string {
	sum := sha256.Sum256([]byte(url))
	return filepath.Join(dir, fmt.Sprintf("%s%x", c.prefix, sum[:12]))
}

// store writes a cache file atomically.
func (c cacheFiles) store(file string, v cachedAnswer) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	c.sweep(filepath.Dir(file))
	temp, err := os.CreateTemp(filepath.Dir(file), c.prefix+"*.new")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = fmt.Fprintf(temp, "%s%s\n%x\n%s", c.mark, v.tag, sha256.Sum256(v.body), v.body)
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), file)
}

// sweep removes old cache files and ignores errors.
func (c cacheFiles) sweep(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, c.prefix+"*"))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && time.Since(info.ModTime()) > oldest {
			_ = os.Remove(file)
		}
	}
}

// load reads a cache file and reports whether it is complete.
func (c cacheFiles) load(file string) (cachedAnswer, bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return cachedAnswer{}, false
	}
	data, ours := bytes.CutPrefix(data, []byte(c.mark))
	tag, data, _ := bytes.Cut(data, []byte("\n"))
	sum, body, _ := bytes.Cut(data, []byte("\n"))
	whole := ours && len(tag) > 0 && string(sum) == fmt.Sprintf("%x", sha256.Sum256(body))
	return cachedAnswer{tag: string(tag), body: body}, whole
}
