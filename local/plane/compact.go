package plane

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// compactKey is the key with which API servers agree on the revision that etcd is compacted to.
// Their caches follow it.
const compactKey = "compact_rev_key"

// Compact removes from etcd all versions of objects but the present ones, as the API server does
// every few minutes with older ones. It may take 15 seconds until the API server answers by that.
func (p *Plane) Compact(ctx context.Context) error {
	h, err := newProber(p.paths)
	if err != nil {
		return err
	}
	var now struct {
		Header struct{ Revision string }
	}
	key := []byte(compactKey)
	err = h.post(ctx, p.state.Ports.Etcd, "/v3/kv/range", map[string]any{"key": key}, &now)
	if err != nil {
		return err
	}
	revision := now.Header.Revision
	err = h.post(ctx, p.state.Ports.Etcd, "/v3/kv/put",
		map[string]any{"key": key, "value": []byte(revision)}, nil)
	if err != nil {
		return err
	}
	return h.post(ctx, p.state.Ports.Etcd, "/v3/kv/compaction",
		map[string]any{"revision": revision}, nil)
}

// post sends JSON and reads the answer into a value, unless that is nil.
func (h *prober) post(ctx context.Context, port int, path string, body, answer any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, httpsURL(port)+path,
		bytes.NewReader(data))
	if err != nil {
		return err
	}
	response, err := h.http.Do(req)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	data, err = io.ReadAll(io.LimitReader(response.Body, 1<<20))
	switch {
	case err != nil:
		return err
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answers %s: %s", path, response.Status, data)
	case answer == nil:
		return nil
	default:
		return json.Unmarshal(data, answer)
	}
}
