package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
		Metadata metav1.ObjectMeta `json:"metadata"`
	} `json:"items"`
}

// selectors limit a list by labels and fields; empty for all.
type selectors struct{ labels, fields string }

// readMetadata reads one page of a list of metadata.
func (c *Client) readMetadata(
	ctx context.Context, path string, s selectors, next string, limit int64,
) (*metadataList, error) {
	request := c.rest.Get().
		AbsPath(path).
		SetHeader("Accept", metadataListMIME).
		Param("limit", strconv.FormatInt(limit, 10))
	if s.labels != "" {
		request = request.Param("labelSelector", s.labels)
	}
	if s.fields != "" {
		request = request.Param("fieldSelector", s.fields)
	}
	if next != "" {
		request = request.Param("continue", next)
	}
	result := request.Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	data, err := result.Raw()
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

// listMetadata returns the metadata of all objects below a path that selectors match.
func (c *Client) listMetadata(
	ctx context.Context, path string, s selectors,
) ([]metav1.ObjectMeta, error) {
	var found []metav1.ObjectMeta
	err := eachPage(pageSize, func(token string, size int64) (next string, err error) {
		var page *metadataList
		err = c.retry(ctx, func() (err error) {
			page, err = c.readMetadata(ctx, path, s, token, size)
			return err
		})
		if err != nil {
			return "", err
		}
		if token == "" {
			found = nil
		}
		for _, item := range page.Items {
			found = append(found, item.Metadata)
		}
		return page.Metadata.Continue, nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// listNames returns the names of all objects below a path.
func (c *Client) listNames(ctx context.Context, path string) ([]string, error) {
	found, err := c.listMetadata(ctx, path, selectors{})
	names := make([]string, len(found))
	for i, metadata := range found {
		names[i] = metadata.Name
	}
	return names, err
}

// ListMetadata returns the metadata, without managed fields, of the objects of a kind in a
// namespace, or in all if it is empty, that carry all of these labels, as List does. The content of
// the objects is not sent.
func (c *Client) ListMetadata(
	ctx context.Context, gk schema.GroupKind, namespace string, with map[string]string,
) ([]metav1.ObjectMeta, error) {
	return c.listMetadataOf(ctx, gk, namespace, selectors{labels: LabelSelector(with).String()})
}

// ListSecretMetadata returns what ListMetadata does of the Secrets of a type. Metadata has no type,
// so the server selects by it.
func (c *Client) ListSecretMetadata(
	ctx context.Context, secretType, namespace string, with map[string]string,
) ([]metav1.ObjectMeta, error) {
	return c.listMetadataOf(ctx, schema.GroupKind{Kind: "Secret"}, namespace, selectors{
		LabelSelector(with).String(), fields.OneTermEqualSelector("type", secretType).String(),
	})
}

// listMetadataOf returns the metadata of the objects of a kind that selectors match, in a
// namespace, or in all if it is empty.
func (c *Client) listMetadataOf(
	ctx context.Context, gk schema.GroupKind, namespace string, s selectors,
) ([]metav1.ObjectMeta, error) {
	kind, err := c.Kind(ctx, gk)
	if err != nil {
		return nil, err
	}
	path := root(kind.Resource.GroupVersion()) + "/"
	if namespace != "" {
		path += "namespaces/" + namespace + "/"
	}
	path += kind.Resource.Resource
	found, err := c.listMetadata(ctx, path, s)
	if err != nil {
		return nil, c.explain(fmt.Errorf("list %s: %w", kind.Resource.GroupResource(), err))
	}
	for i := range found {
		found[i].ManagedFields = nil
	}
	return found, nil
}

// maxNodes is how many nodes are read to find the oldest: more than most clusters have, and cheap.
const maxNodes = 250

// Nodes returns the name of the oldest node, empty if there is none, and the number of other nodes.
// It sends one request for metadata. In a cluster of more than maxNodes it considers the first by
// name, since no server sorts by age.
func (c *Client) Nodes(ctx context.Context) (oldest string, more int, err error) {
	var page *metadataList
	err = c.whenAsked(ctx, func() (err error) {
		page, err = c.readMetadata(ctx, "/api/v1/nodes", selectors{}, "", maxNodes)
		return err
	})
	if err != nil {
		return "", 0, c.explain(fmt.Errorf("list nodes: %w", err))
	}
	if len(page.Items) == 0 {
		return "", 0, nil
	}
	first := page.Items[0].Metadata
	for _, item := range page.Items {
		if item.Metadata.CreationTimestamp.Before(&first.CreationTimestamp) {
			first = item.Metadata
		}
	}
	return first.Name, len(page.Items) - 1 + page.Metadata.RemainingItemCount, nil
}
