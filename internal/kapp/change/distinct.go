package change

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/kapp/resource"
)

// Distinct leaves out what was read twice, under two API versions: of the objects with one UID the one stays whose version
// the object was deployed in, by its identity, or else the one with the first version in the order of the alphabet. Objects
// without a UID all stay. The order is that of the first of each.
func Distinct(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	kept := make([]*unstructured.Unstructured, 0, len(objects))
	places := make(map[types.UID]int, len(objects))
	for _, obj := range objects {
		uid := obj.GetUID()
		at, met := places[uid]
		switch {
		case uid == "" || !met:
			places[uid] = len(kept)
			kept = append(kept, obj)
		case preferred(obj, kept[at]):
			kept[at] = obj
		}
	}
	return kept
}

// preferred reports whether an object is kept rather than another form of it.
func preferred(obj, other *unstructured.Unstructured) bool {
	deployed := deployedVersion(obj)
	switch {
	case other.GetAPIVersion() == deployed:
		return false
	case obj.GetAPIVersion() == deployed:
		return true
	}
	return obj.GetAPIVersion() < other.GetAPIVersion()
}

// deployedVersion is the API version in which an object was deployed, or "".
func deployedVersion(obj *unstructured.Unstructured) string {
	identity, _ := annotation(obj, resource.AnnIdentity)
	parts := strings.Split(identity, ";")
	if len(parts) != 3 {
		return ""
	}
	return parts[2]
}
