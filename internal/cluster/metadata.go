package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// metadataListMIME is the media type of a list of metadata.
const metadataListMIME = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// metadataList is the part of a list of metadata that the client needs.
type metadataList struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Continue           string `json:"continue"`
		RemainingItemCount int    `json:"remainingItemCount"`
	} `json:"metadata"`
	Items []struct {
		Metadata struct {
			Name    string    `json:"name"`
			Created time.Time `json:"creationTimestamp"`
		} `json:"metadata"`
	} `json:"items"`
}

// readMetadata reads one page of a list of metadata.
func (c *Client) readMetadata(
	ctx context.Context, path, next string, limit int,
) (*metadataList, error) {
	request := c.rest.Get().
		AbsPath(path).
		SetHeader("Accept", metadataListMIME).
		Param("limit", strconv.Itoa(limit))
	if next != "" {
		request = request.Param("continue", next)
	}
	data, err := request.DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	var page metadataList
	if err := json.Unmarshal(data, &page); err != nil {
		return nil, fmt.Errorf("read the list of %s: %w", path, err)
	}
	if page.Items == nil && !strings.HasSuffix(page.Kind, "List") {
		return nil, fmt.Errorf("read the list of %s: the answer is a %q", path, page.Kind)
	}
	return &page, nil
}

// listNames returns the names of all objects below a path.
func (c *Client) listNames(ctx context.Context, path string) ([]string, error) {
	var names []string
	for next := ""; ; {
		var page *metadataList
		err := c.retry(ctx, func() (err error) {
			page, err = c.readMetadata(ctx, path, next, pageSize)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			names = append(names, item.Metadata.Name)
		}
		if next = page.Metadata.Continue; next == "" {
			return names, nil
		}
	}
}

// maxNodes is how many nodes are read to find the oldest: more than most clusters have, and cheap.
const maxNodes = 250

// Nodes returns the name of the oldest node, empty if there is none, and the number of other nodes.
// It sends one request for metadata. In a cluster of more than maxNodes it considers the first by
// name, since no server sorts by age.
func (c *Client) Nodes(ctx context.Context) (oldest string, more int, err error) {
	page, err := c.readMetadata(ctx, "/api/v1/nodes", "", maxNodes)
	if err != nil {
		return "", 0, c.explain(fmt.Errorf("list nodes: %w", err))
	}
	if len(page.Items) == 0 {
		return "", 0, nil
	}
	first := page.Items[0].Metadata
	for _, item := range page.Items {
		if item.Metadata.Created.Before(first.Created) {
			first = item.Metadata
		}
	}
	return first.Name, len(page.Items) - 1 + page.Metadata.RemainingItemCount, nil
}
