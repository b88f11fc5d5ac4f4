package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/openapi"
)

// The limits of reading schemas: the time for all, the number of documents that are read at once,
// and the size of one. That of the core group has 1 MB.
const (
	schemasTimeout = 15 * time.Second
	schemasAtOnce  = 4
	schemaSize     = 64 << 20
)

// openAPIPath is the path of the index of a server's OpenAPI documents, and the folder of these.
const openAPIPath = "/openapi/v3"

// schemaFiles are the cache files of schemas.
var schemaFiles = cacheFiles{prefix: "fields-", mark: "muster: fields of kinds, 1\n"}

// knownSchema is the OpenAPI document of a group and version, and its hash from the index.
type knownSchema struct {
	hash     string
	document *openapi.Document
}

// Schemas returns the OpenAPI documents of group versions. It asks the server for the index of its
// documents, and only for documents whose hash has changed since they were read. Versions without a
// document are left out. The error is about those that could not be read; the others are returned
// nevertheless.
func (c *Client) Schemas(
	ctx context.Context, versions []schema.GroupVersion,
) (map[schema.GroupVersion]*openapi.Document, error) {
	found := map[schema.GroupVersion]*openapi.Document{}
	if len(versions) == 0 {
		return found, nil
	}
	ctx, cancel := context.WithTimeout(ctx, schemasTimeout)
	defer cancel()
	hashes, err := c.readSchemaIndex(ctx)
	if err != nil {
		return found, fmt.Errorf("read the index of the server's OpenAPI documents: %w", err)
	}
	read, failed := make([]*openapi.Document, len(versions)), make([]error, len(versions))
	group := errgroup.Group{}
	group.SetLimit(schemasAtOnce)
	for i, gv := range versions {
		if hash, ok := hashes[strings.TrimPrefix(root(gv), "/")]; ok {
			group.Go(func() error {
				read[i], failed[i] = c.schemaOf(ctx, gv, hash)
				return nil
			})
		}
	}
	_ = group.Wait() // the errors are in failed
	for i, gv := range versions {
		if read[i] != nil {
			found[gv] = read[i]
		}
		if failed[i] != nil {
			failed[i] = fmt.Errorf("read the server's OpenAPI document of %s: %w", gv, failed[i])
		}
	}
	return found, errors.Join(failed...)
}

// PublishedSchemas returns a digest of the OpenAPI documents of the versions of a group, by their
// hashes in the index of the server.
func (c *Client) PublishedSchemas(ctx context.Context, group string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, schemasTimeout)
	defer cancel()
	hashes, err := c.readSchemaIndex(ctx)
	if err != nil {
		return "", fmt.Errorf("read the index of the server's OpenAPI documents: %w", err)
	}
	var found strings.Builder
	for _, path := range slices.Sorted(maps.Keys(hashes)) {
		if strings.HasPrefix(path, "apis/"+group+"/") {
			fmt.Fprintf(&found, "%s %s\n", path, hashes[path])
		}
	}
	return found.String(), nil
}

// readSchemaIndex returns the hashes of the server's OpenAPI documents, by their path below that of
// the index. A document whose server does not say its hash has an empty one.
func (c *Client) readSchemaIndex(ctx context.Context) (map[string]string, error) {
	data, err := c.readOpenAPI(ctx, openAPIPath)
	if err != nil {
		return nil, err
	}
	var index struct {
		Paths map[string]struct {
			URL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, err
	}
	hashes := map[string]string{}
	for path, document := range index.Paths {
		at, err := url.Parse(document.URL)
		if err != nil {
			continue // it is read each time, from the path
		}
		hashes[path] = at.Query().Get("hash")
	}
	return hashes, nil
}

// schemaOf returns the document of a group version, from the memory of the client, from the cache,
// or from the server.
func (c *Client) schemaOf(
	ctx context.Context, gv schema.GroupVersion, hash string,
) (*openapi.Document, error) {
	c.mu.Lock()
	known, ok := c.schemas[gv]
	c.mu.Unlock()
	if ok && known.hash == hash && hash != "" {
		return known.document, nil
	}
	path := openAPIPath + root(gv)
	file := schemaFiles.name(c.cacheDir, c.host+path)
	document := c.cachedSchema(file, hash)
	if document == nil {
		data, err := c.readOpenAPI(ctx, path)
		if err != nil {
			return nil, err
		}
		if document, err = openapi.Parse(data, gv.Group, gv.Version); err != nil {
			return nil, err
		}
		c.cacheSchema(file, hash, document)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.schemas[gv] = knownSchema{hash, document}
	return document, nil
}

// cachedSchema returns the document in a cache file; nil unless it has the hash.
func (c *Client) cachedSchema(file, hash string) *openapi.Document {
	if c.cacheDir == "" || hash == "" {
		return nil
	}
	last, ok := schemaFiles.load(file)
	document := &openapi.Document{}
	if !ok || last.tag != hash || json.Unmarshal(last.body, document) != nil {
		return nil
	}
	return document
}

// cacheSchema writes a cache file. Without one the next run reads the document again.
func (c *Client) cacheSchema(file, hash string, document *openapi.Document) {
	if c.cacheDir == "" || hash == "" || strings.Contains(hash, "\n") {
		return
	}
	if body, err := json.Marshal(document); err == nil {
		_ = schemaFiles.store(file, cachedAnswer{tag: hash, body: body})
	}
}

// readOpenAPI returns the text of an OpenAPI document or of their index.
func (c *Client) readOpenAPI(ctx context.Context, path string) (data []byte, err error) {
	err = c.retry(ctx, func() error {
		stream, err := c.rest.Get().MaxRetries(0).AbsPath(path).Stream(ctx)
		if err != nil {
			return err
		}
		defer stream.Close()
		data, err = io.ReadAll(io.LimitReader(stream, schemaSize+1))
		if err == nil && len(data) > schemaSize {
			err = fmt.Errorf("it has more than %d MiB", schemaSize>>20)
		}
		return err
	})
	return data, c.explain(err)
}
