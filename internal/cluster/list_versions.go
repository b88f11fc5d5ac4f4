package cluster

import (
	"iter"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/muster-deploy/muster/internal/object"
)

// listVersions records which objects lists have covered, and the resource version from which a
// watch misses no change of them. Versions of one resource are comparable across namespaces; those
// of two resources are not.
type listVersions struct {
	// of the earliest list; empty if versions are not ordered
	versions map[schema.GroupResource]string
	// a list contained them or showed that they do not exist
	listed map[object.Ref]struct{}
}

// recordList records the version of a list and the objects that it covers.
func (c *Client) recordList(
	resource schema.GroupResource, version string, refs iter.Seq[object.Ref],
) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.memory.versions[resource]
	switch order, err := resourceversion.CompareResourceVersion(version, known); {
	case !ok:
		c.memory.versions[resource] = version
	case err != nil:
		c.memory.versions[resource] = ""
	case order < 0:
		c.memory.versions[resource] = version
	}
	for ref := range refs {
		c.memory.listed[ref] = struct{}{}
	}
}

// watchVersion returns the version from which a watch misses no change since the objects were
// listed. It is empty if one of them was never listed.
func (c *Client) watchVersion(resource schema.GroupResource, refs []object.Ref) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ref := range refs {
		if _, ok := c.memory.listed[ref]; !ok {
			return ""
		}
	}
	return c.memory.versions[resource]
}
