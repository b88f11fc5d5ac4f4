package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The media types of aggregated discovery, which describes all kinds at once. Servers without it
// only list the group versions and describe each in another response. The beta and the final form
// have the same field names.
const (
	aggregatedGroup = "apidiscovery.k8s.io"
	aggregatedKind  = "APIGroupDiscoveryList"
	aggregatedForm  = "application/json;g=" + aggregatedGroup + ";v=v2;as=" + aggregatedKind + "," +
		"application/json;g=" + aggregatedGroup + ";v=v2beta1;as=" + aggregatedKind + ",application/json"
)

// groupVersion is the discovery result of one version of one group.
type groupVersion struct {
	schema.GroupVersion
	resources []resource
	err       error // why the server cannot list the resources
	asked     bool  // resources or err is final
}

// resource is one kind in one version.
type resource struct {
	name       string // plural
	kind       string
	namespaced bool
	verbs      []string
}

// uses returns how many of the verbs it has that every object needs, up to 3.
func (r *resource) uses() int {
	n := 0
	for _, verb := range []string{"get", "list", "delete"} {
		if slices.Contains(r.verbs, verb) {
			n++
		}
	}
	return n
}

// aggregated is the part of aggregated discovery that the client needs.
type aggregated struct {
	Items []aggregatedItem `json:"items"`
}

type aggregatedItem struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Versions []aggregatedVersion `json:"versions"`
}

type aggregatedVersion struct {
	Version   string               `json:"version"`
	Freshness string               `json:"freshness,omitempty"`
	Resources []aggregatedResource `json:"resources,omitempty"`
}

type aggregatedResource struct {
	Resource     string `json:"resource"`
	ResponseKind *struct {
		Kind string `json:"kind"`
	} `json:"responseKind,omitempty"`
	Scope string   `json:"scope,omitempty"`
	Verbs []string `json:"verbs,omitempty"`
}

// readGroupVersions reads what the server serves, in its order of preference. A version that cannot
// be described is no error of the call.
func (c *Client) readGroupVersions(ctx context.Context) ([]groupVersion, error) {
	var core, others []groupVersion
	group, both := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		core, err = c.readGroupVersionsBelow(both, "/api")
		if apierrors.IsNotFound(err) {
			return nil // an extension API server has no core group
		}
		return err
	})
	group.Go(func() (err error) {
		others, err = c.readGroupVersionsBelow(both, "/apis")
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all := slices.Concat(core, others)
	for range 2 { // versions may come and go meanwhile
		c.readResources(ctx, all)
	}
	return all, nil
}

// readGroupVersionsBelow reads what is served below one path.
func (c *Client) readGroupVersionsBelow(ctx context.Context, path string) ([]groupVersion, error) {
	var form string
	answer := c.rest.Get().AbsPath(path).SetHeader("Accept", aggregatedForm).Do(ctx).ContentType(&form)
	if err := answer.Error(); err != nil {
		return nil, err
	}
	data, err := answer.Raw()
	if err != nil {
		return nil, err
	}
	read := parseLegacy
	if isAggregated(form) {
		read = parseAggregated
	}
	offers, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("read what the server says of its kinds (%s): %w", path, err)
	}
	return offers, nil
}

func isAggregated(form string) bool {
	media, params, err := mime.ParseMediaType(form)
	return err == nil && media == "application/json" && params["g"] == aggregatedGroup &&
		params["as"] == aggregatedKind
}

func parseAggregated(data []byte) (offers []groupVersion, err error) {
	var list aggregated
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	for _, group := range list.Items {
		for _, version := range group.Versions {
			o := groupVersion{
				GroupVersion: schema.GroupVersion{
					Group: group.Metadata.Name, Version: version.Version,
				},
				asked: true,
			}
			if version.Freshness == "Stale" {
				o.err = fmt.Errorf("stale GroupVersion discovery: %v", o.GroupVersion)
				version.Resources = nil
			}
			for _, r := range version.Resources {
				if r.ResponseKind != nil && r.ResponseKind.Kind != "" {
					o.resources = append(o.resources,
						resource{r.Resource, r.ResponseKind.Kind, r.Scope == "Namespaced", r.Verbs})
				}
			}
			offers = append(offers, o)
		}
	}
	return offers, nil
}

// parseLegacy reads the older forms, which list the versions alone.
func parseLegacy(data []byte) (offers []groupVersion, err error) {
	var list struct {
		Versions []string `json:"versions"` // of the core group
		Groups   []struct {
			Name     string `json:"name"`
			Versions []struct {
				Version string `json:"version"`
			} `json:"versions"`
		} `json:"groups"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	for _, version := range list.Versions {
		offers = append(offers, groupVersion{GroupVersion: schema.GroupVersion{Version: version}})
	}
	for _, group := range list.Groups {
		for _, version := range group.Versions {
			offers = append(
				offers,
				groupVersion{
					GroupVersion: schema.GroupVersion{Group: group.Name, Version: version.Version},
				},
			)
		}
	}
	return offers, nil
}

// readResources reads the resources of all versions that were only named, concurrently.
func (c *Client) readResources(ctx context.Context, offers []groupVersion) {
	var all sync.WaitGroup
	for i := range offers {
		if o := &offers[i]; !o.asked {
			all.Go(func() { o.resources, o.err = c.readResourcesOf(ctx, o.GroupVersion) })
		}
	}
	all.Wait()
	for i := range offers {
		offers[i].asked = offers[i].asked || offers[i].err == nil
	}
}

func (c *Client) readResourcesOf(
	ctx context.Context, gv schema.GroupVersion,
) (found []resource, err error) {
	var data []byte
	err = c.whenAsked(ctx, func() (err error) {
		answer := c.rest.Get().AbsPath(root(gv)).Do(ctx)
		if err := answer.Error(); err != nil { // it says more than that of Raw
			return err
		}
		data, err = answer.Raw()
		return err
	})
	if gv.Group == "" && apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err // unwrapped: it is printed for the version
	}
	var list struct {
		Resources []struct {
			Name       string   `json:"name"`
			Kind       string   `json:"kind"`
			Namespaced bool     `json:"namespaced"`
			Verbs      []string `json:"verbs"`
		} `json:"resources"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("read what the server says of its kinds (%s): %w", root(gv), err)
	}
	for _, r := range list.Resources {
		if !strings.Contains(r.Name, "/") { // a subresource
			found = append(found, resource{r.Name, r.Kind, r.Namespaced, r.Verbs})
		}
	}
	return found, nil
}
