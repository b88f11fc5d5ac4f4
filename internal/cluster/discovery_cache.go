package cluster

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// discoveryCache is a transport that keeps discovery responses in a folder between runs. It sends
// each request with the ETag of the cached response; if that has not changed, the server sends no
// body. Errors of the cache are ignored.
type discoveryCache struct {
	next http.RoundTripper
	dir  string
}

// cachedAnswer is a cached discovery response.
type cachedAnswer struct {
	tag  string // ETag
	body []byte // the part that the client needs
}

// RoundTrip sends the request, with the ETag of a cached response.
func (r *discoveryCache) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet || req.Header.Get("Accept") != aggregatedForm {
		return r.next.RoundTrip(req)
	}
	file := r.file(req.URL)
	last, ok := loadAnswer(file)
	if ok {
		req = req.Clone(req.Context())
		req.Header.Set("If-None-Match", last.tag)
	}
	resp, err := r.next.RoundTrip(req)
	switch {
	case err != nil:
		return nil, err
	case ok && resp.StatusCode == http.StatusNotModified:
		return resp, last.answer(resp)
	case resp.StatusCode == http.StatusOK && resp.Header.Get("Etag") != "" &&
		isAggregated(resp.Header.Get("Content-Type")):
		return resp, cacheAnswer(file, resp)
	}
	return resp, nil
}

// file returns the name of the cache file for a URL.
func (r *discoveryCache) file(of *url.URL) string {
	sum := sha256.Sum256([]byte(of.Scheme + "://" + of.Host + of.Path))
	return filepath.Join(r.dir, fmt.Sprintf("%s%x", fileName, sum[:12]))
}

// answer turns a 304 response into the cached one.
func (v cachedAnswer) answer(resp *http.Response) error {
	if err := resp.Body.Close(); err != nil {
		return err
	}
	resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
	resp.Header = resp.Header.Clone()
	resp.Header.Set("Content-Type", strings.Split(aggregatedForm, ",")[0])
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(v.body)), int64(len(v.body))
	return nil
}

// cacheAnswer caches a response and restores its body.
func cacheAnswer(file string, resp *http.Response) error {
	data, err := io.ReadAll(resp.Body)
	if err == nil {
		err = resp.Body.Close()
	}
	if err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	var matters aggregated
	if json.Unmarshal(data, &matters) != nil {
		return nil // the caller reports it
	}
	if body, err := json.Marshal(matters); err == nil {
		_ = cachedAnswer{
			tag:  resp.Header.Get("Etag"),
			body: body,
		}.store(file) // without a cache file the next run reads all
	}
	return nil
}

// mark is the first line of a cache file. It changes with the format.
const mark = "muster: kinds of a server, 1\n"

// The prefix of cache files, and the age at which writing another file removes them.
const (
	fileName = "kinds-"
	oldest   = 30 * 24 * time.Hour
)

// store writes a cache file atomically.
func (v cachedAnswer) store(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	sweep(filepath.Dir(file))
	temp, err := os.CreateTemp(filepath.Dir(file), fileName+"*.new")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = fmt.Fprintf(temp, "%s%s\n%x\n%s", mark, v.tag, sha256.Sum256(v.body), v.body)
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), file)
}

// sweep removes old cache files and ignores errors.
func sweep(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, fileName+"*"))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && time.Since(info.ModTime()) > oldest {
			_ = os.Remove(file)
		}
	}
}

// loadAnswer reads a cache file and reports whether it is complete.
func loadAnswer(file string) (cachedAnswer, bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return cachedAnswer{}, false
	}
	data, ours := bytes.CutPrefix(data, []byte(mark))
	tag, data, _ := bytes.Cut(data, []byte("\n"))
	sum, body, _ := bytes.Cut(data, []byte("\n"))
	whole := ours && len(tag) > 0 && string(sum) == fmt.Sprintf("%x", sha256.Sum256(body))
	return cachedAnswer{tag: string(tag), body: body}, whole
}
