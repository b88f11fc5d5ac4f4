package ready

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
)

// How long a reported cause must last: missingPatience before it counts as stuck, since a
// controller may still create what is missing, pullPatience for an image that a registry does not
// give, and doubtDelay before it is printed if it is often transient. The status of a pod shows the
// same fault as an event after statusDelay at the latest.
const (
	missingPatience = 10 * time.Second
	pullPatience    = 2 * time.Second
	doubtDelay      = 5 * time.Second
	statusDelay     = 2 * time.Second
)

// notFound matches the reports of Kubernetes about objects that do not exist, such as
// `configmap "settings" not found`. Only their text names the object.
var notFound = regexp.MustCompile(
	`\b(configmap|secret|serviceaccount|storageclass)(?:\.storage\.k8s\.io)? "([^"]+)" not found`)

// missingKinds are the kinds that notFound matches.
var missingKinds = map[string]schema.GroupKind{
	"configmap": {Kind: "ConfigMap"}, "secret": {Kind: "Secret"},
	"serviceaccount": {Kind: "ServiceAccount"},
	"storageclass":   {Group: "storage.k8s.io", Kind: "StorageClass"},
}

// noPriorityClass matches the refusal of a pod whose priority class does not exist.
var noPriorityClass = regexp.MustCompile(`\bno PriorityClass with name (\S+) was found`)

// MissingIn returns the object that does not exist according to a refusal of an object in a
// namespace; the zero Ref if the text names none.
func MissingIn(text, namespace string) object.Ref {
	if found := noPriorityClass.FindStringSubmatch(text); found != nil {
		return object.Ref{Group: "scheduling.k8s.io", Kind: "PriorityClass", Name: found[1]}
	}
	found := notFound.FindStringSubmatch(text)
	if found == nil {
		return object.Ref{}
	}
	kind := missingKinds[found[1]]
	missing := object.Ref{Group: kind.Group, Kind: kind.Kind, Name: found[2]}
	if kind.Group == "" {
		missing.Namespace = namespace
	}
	return missing
}

// userRefused matches the refusals of the user of a container, which image and pod determine.
var userRefused = regexp.MustCompile(`\bhas runAsNonRoot and image\b|\bnon-root policy\b`)

// What registries answer for images that they do not have, and to other or no credentials. They
// often do not tell the two apart.
var (
	imageAbsent  = regexp.MustCompile(`: not found$|\bmanifest unknown\b`)
	accessDenied = regexp.MustCompile(`\b(?:pull access denied|authorization failed|` +
		`no basic auth credentials|401 Unauthorized|403 Forbidden|unauthorized:|denied:)`)
)

// gradePull sets how likely a failed pull is to pass without a change. An image that the kubelet
// must not pull, or whose name cannot be parsed, is reported once. Somebody may still push an image
// that is missing. One that is refused is certain if it is refused again.
func (c *Cause) gradePull(reason, message string) {
	denied := accessDenied.MatchString(message)
	c.Once = reason == "InvalidImageName" || reason == "ErrImageNeverPull"
	c.Certain = c.Once || denied
	c.Stuck = reason != "ErrImagePull" || denied || imageAbsent.MatchString(message)
	if reason == "ErrImagePull" {
		c.Patience = pullPatience // the kubelet may have asked too early
	}
}

// unreadPullSecrets matches the report that a node cannot read the pull secrets of a pod.
var unreadPullSecrets = regexp.MustCompile(`image pull secrets \(([^),]+)(.*)\)`)

// addPullSecret adds to a refused pull, the cause of a pod, that a pull secret is missing.
func (s *search) addPullSecret(r *Evidence, c *Cause) {
	for w := range s.warnings(r.UID) {
		if names := unreadPullSecrets.FindStringSubmatch(w.message); names != nil {
			c.Message = fmt.Sprintf("%s; pull secret %s%s not found", c.Message, names[1], names[2])
			c.Missing = object.Ref{Kind: "Secret", Namespace: r.Ref.Namespace, Name: names[1]}
			return
		}
	}
}

// grade sets how likely a reported cause is to pass without a change. A storage class that does not
// exist and pods that pod security or permissions forbid are certain not to. Pods beyond a quota
// are not: other pods may end, as in a rolling update. Nor is what a controller may still create.
func (c *Cause) grade(reason, message string) {
	if found := notFound.FindStringSubmatch(message); found != nil {
		kind := missingKinds[found[1]]
		c.Missing = object.Ref{Group: kind.Group, Kind: kind.Kind, Name: found[2]}
		if kind.Group == "" {
			c.Missing.Namespace = c.Object.Namespace
		}
		c.Stuck, c.Patience = true, missingPatience
		c.Certain = reason == "ProvisioningFailed" && kind.Kind == "StorageClass"
		if kind.Kind == "ServiceAccount" { // a new namespace gets its default one soon
			c.Delay = doubtDelay
		}
	}
	switch reason {
	case "CreateContainerConfigError":
		if userRefused.MatchString(message) {
			c.Stuck, c.Certain, c.Once = true, true, true
		} else if strings.HasPrefix(message, "couldn't find key ") {
			c.Stuck, c.Patience = true, missingPatience
		}
	case "FailedCreate":
		if strings.Contains(message, "is forbidden: ") {
			c.Stuck, c.Patience = true, missingPatience
			c.Certain = strings.Contains(message, "is forbidden: violates PodSecurity ") ||
				strings.Contains(message, ` cannot create resource "pods" `)
		}
	case "FailedMount":
		c.Delay = doubtDelay // what new namespaces get, and what the same run applies, is there soon
	case "FailedScheduling":
		c.Delay = claimDelay(message)
	}
}

// claimDelay returns the delay of a scheduling failure: claims of new pods are often bound soon.
func claimDelay(message string) time.Duration {
	if strings.Contains(message, "PersistentVolumeClaims") ||
		strings.Contains(message, "persistentvolumeclaim ") {
		return doubtDelay
	}
	return 0
}
