package owner

import (
	"crypto/sha256"
	"encoding/base64"

	"github.com/muster-deploy/muster/internal/object"
)

// ApplySetLabel is the label of the members of ApplySets. Its value is the ID of the set.
const ApplySetLabel = "applyset.kubernetes.io/part-of"

// ApplySetID returns the ID of the ApplySet with a parent, as KEP-3659 defines it.
func ApplySetID(parent object.Ref) string {
	text := parent.Name + "." + parent.Namespace + "." + parent.Kind + "." + parent.Group
	sum := sha256.Sum256([]byte(text))
	return "applyset-" + base64.RawURLEncoding.EncodeToString(sum[:]) + "-v1"
}
