package kpt

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// The annotations and labels of packages.
const (
	dependsOnKey   = "config.kubernetes.io/depends-on"
	localConfigKey = "config.kubernetes.io/local-config"
	ownerKey       = "config.k8s.io/owning-inventory"
	inventoryIDKey = "cli-utils.sigs.k8s.io/inventory-id"
	onRemoveKey    = "cli-utils.sigs.k8s.io/on-remove"
	deletionKey    = "client.lifecycle.config.k8s.io/deletion"
	lastAppliedKey = "kubectl.kubernetes.io/last-applied-configuration"

	waitKey    = "muster.dev/wait"
	timeoutKey = "muster.dev/timeout"
)

// The annotations by which tools that work on files tell each other where an object came from.
const (
	internalPrefix = "internal.config.kubernetes.io/"
	pathKey        = internalPrefix + "path"
	olderPathKey   = "config.kubernetes.io/path"
	olderIndexKey  = "config.kubernetes.io/index"
)

//go:embed kinds.yaml
var kindsFile []byte

// kindOrder reads the order in which kinds are written.
func kindOrder() (plan.KindOrder, error) {
	var file struct{ First, Last []string }
	if err := yaml.UnmarshalStrict(kindsFile, &file); err != nil {
		return plan.KindOrder{}, fmt.Errorf("read the order of kinds: %w", err)
	}
	return plan.KindOrder{First: groupKinds(file.First), Last: groupKinds(file.Last)}, nil
}

func groupKinds(names []string) []schema.GroupKind {
	parsed := make([]schema.GroupKind, len(names))
	for i, name := range names {
		parsed[i] = schema.ParseGroupKind(name)
	}
	return parsed
}

// policy is what every command of the dialect wants for the objects of an inventory.
func policy(inv *inventory, adoption plan.Adoption) (plan.Policy, error) {
	order, err := kindOrder()
	if err != nil {
		return plan.Policy{}, err
	}
	return plan.Policy{
		Order: order,
		Owner: plan.Owner{Annotation: ownerKey, ID: inv.id, Adoption: adoption, Hint: "--inventory-policy=adopt takes it over"},
		Retain: []plan.Annotation{
			{Key: onRemoveKey, Value: "keep"},
			{Key: deletionKey, Value: "detach"},
		},
		DependsOn:   dependsOn,
		Waiting:     waiting,
		Home:        object.Ref{Kind: "Namespace", Name: inv.ref.Namespace},
		LastApplied: lastAppliedKey,
	}, nil
}

// dependsOn reads the references of the depends-on annotation, separated by commas. A reference is GROUP/KIND/NAME or
// GROUP/namespaces/NAMESPACE/KIND/NAME; the core group is empty.
func dependsOn(obj *unstructured.Unstructured) ([]object.Ref, error) {
	value, ok := obj.GetAnnotations()[dependsOnKey]
	if !ok {
		return nil, nil
	}
	var refs []object.Ref
	for i, text := range strings.Split(value, ",") {
		ref, err := parseReference(strings.TrimSpace(text))
		if err != nil {
			return refs, fmt.Errorf("annotation %s: reference %d: %w", dependsOnKey, i+1, err)
		}
		if slices.Contains(refs, ref) {
			return refs, fmt.Errorf("annotation %s: %q is named twice", dependsOnKey, strings.TrimSpace(text))
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// waiting reads the annotations by which an object says how it is waited for.
func waiting(obj *unstructured.Unstructured) (plan.Waiting, error) {
	var w plan.Waiting
	annotations := obj.GetAnnotations()
	if text, ok := annotations[waitKey]; ok {
		wait, err := strconv.ParseBool(text)
		if err != nil {
			return w, fmt.Errorf("annotation %s: %q must be \"true\" or \"false\"", waitKey, text)
		}
		w.Skip = !wait
	}
	if text, ok := annotations[timeoutKey]; ok {
		timeout, err := time.ParseDuration(text)
		if err != nil || timeout <= 0 {
			return w, fmt.Errorf("annotation %s: %q must be a duration above zero, such as 90s or 5m", timeoutKey, text)
		}
		w.Timeout = timeout
	}
	return w, nil
}

func parseReference(text string) (object.Ref, error) {
	fields := strings.Split(text, "/")
	var ref object.Ref
	switch {
	case len(fields) == 3:
		ref = object.Ref{Group: fields[0], Kind: fields[1], Name: fields[2]}
	case len(fields) == 5 && fields[1] == "namespaces":
		ref = object.Ref{Group: fields[0], Namespace: fields[2], Kind: fields[3], Name: fields[4]}
		if ref.Namespace == "" {
			return ref, fmt.Errorf("%q has an empty namespace", text)
		}
	default:
		return ref, fmt.Errorf("%q is neither GROUP/KIND/NAME nor GROUP/namespaces/NAMESPACE/KIND/NAME", text)
	}
	if ref.Kind == "" || ref.Name == "" {
		return ref, fmt.Errorf("%q has no kind or no name", text)
	}
	return ref, nil
}
