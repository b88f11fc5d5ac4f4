package cluster

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// discoveryCache is a transport that keeps discovery responses in a folder between runs. It sends
// each request with the ETag of the cached response; if that has not changed, the server sends no
// body. Errors of the cache are ignored.
type discoveryCache struct {
	next http.RoundTripper
	dir  string
}

// kindFiles are the cache files of discovery responses.
var kindFiles = cacheFiles{prefix: "kinds-", mark: "muster: kinds of a server, 1\n"}

// RoundTrip sends the request, with the ETag of a cached response.
func (r *discoveryCache) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet || req.Header.Get("Accept") != aggregatedForm {
		return r.next.RoundTrip(req)
	}
	file := r.file(req.URL)
	last, ok := kindFiles.load(file)
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
	return kindFiles.name(r.dir, of.Scheme+"://"+of.Host+of.Path)
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
		// without a cache file the next run reads all
		_ = kindFiles.store(file, cachedAnswer{tag: resp.Header.Get("Etag"), body: body})
	}
	return nil
}
