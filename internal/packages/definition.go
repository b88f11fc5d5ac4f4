package packages

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages/inventory"
)

// fitness is whether the cluster can hold records.
type fitness int

const (
	missing  fitness = iota // there is no definition
	outdated                // there is one that lacks something
	fit
)

// definitionServed reports whether the cluster knows ResourceGroups.
func definitionServed(ctx context.Context, client Cluster) (bool, error) {
	kind, err := client.Kind(ctx, inventory.ResourceGroupKind.GroupKind())
	if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) && unknown.Cause == nil {
		return false, nil
	}
	return len(kind.Served) > 0, err
}

// DemandDefinition refuses a cluster that cannot hold the record of an inventory: nobody could tell there what was deployed.
func DemandDefinition(ctx context.Context, client Cluster, inv *inventory.Inventory) error {
	if inv.Ref.GroupKind() != inventory.ResourceGroupKind.GroupKind() {
		return nil
	}
	served, err := definitionServed(ctx, client)
	if err == nil && !served {
		err = ErrNoDefinition
	}
	return err
}

// definitionFitness compares the definition in the cluster with ours. Whoever may not read it takes it for fit.
func definitionFitness(ctx context.Context, client Cluster, ours *unstructured.Unstructured) (fitness, error) {
	if served, err := definitionServed(ctx, client); err != nil || !served {
		return missing, err
	}
	ref := object.RefOf(ours)
	snapshot, err := client.Read(ctx, []cluster.Target{{Ref: ref, Version: ours.GroupVersionKind().Version}})
	switch {
	case apierrors.IsForbidden(err):
		return fit, nil
	case err != nil:
		return missing, err
	case snapshot.Objects[ref] == nil || serves(snapshot.Objects[ref], ours):
		return fit, nil
	default:
		return outdated, nil
	}
}

// serves reports whether a definition can hold all that ours can. One that can hold more, or describes it in other words, is
// as good: another tool, or a later version of this one, has put it there.
func serves(live, ours *unstructured.Unstructured) bool {
	wanted := versionOf(ours)
	have := versionOf(live)
	return have != nil && have["served"] == true &&
		covers(have["schema"], wanted["schema"]) && covers(have["subresources"], wanted["subresources"]) &&
		textAt(live, "spec", "scope") == textAt(ours, "spec", "scope")
}

// versionOf is what a definition says of the version in which records are stored, or nil.
func versionOf(definition *unstructured.Unstructured) map[string]any {
	versions, _, _ := unstructured.NestedFieldNoCopy(definition.Object, "spec", "versions")
	list, _ := versions.([]any)
	for _, item := range list {
		if version, ok := item.(map[string]any); ok && version["name"] == inventory.ResourceGroupKind.Version {
			return version
		}
	}
	return nil
}

func textAt(obj *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(obj.Object, path...)
	return value
}

// covers reports whether all that is wanted is there, descriptions left out. The order of lists does not count.
func covers(have, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		have, ok := have.(map[string]any)
		if !ok {
			return false
		}
		for key, value := range want {
			if _, words := value.(string); (key != "description" || !words) && !covers(have[key], value) {
				return false
			}
		}
		return true
	case []any:
		have, ok := have.([]any)
		return ok && !slices.ContainsFunc(want, func(item any) bool { return !slices.Contains(have, item) })
	default:
		return have == want
	}
}

// DefinitionPolicy says what to do about the ResourceGroup definition before an apply.
type DefinitionPolicy int

// The policies.
const (
	IgnoreDefinition  DefinitionPolicy = iota // as a dry run, which records nothing
	RequireDefinition                         // fail if it is missing
	InstallDefinition                         // install it if it is missing or outdated
)

// ensureDefinition makes sure that the cluster can hold the record. A definition that is only outdated and may not be
// changed serves for most of it.
func ensureDefinition(ctx context.Context, client Cluster, inv *inventory.Inventory, p DefinitionPolicy, notice func(string)) error {
	if inv.Ref.GroupKind() != inventory.ResourceGroupKind.GroupKind() {
		return nil
	}
	switch p {
	case IgnoreDefinition:
		return nil
	case RequireDefinition:
		return DemandDefinition(ctx, client, inv)
	}
	ours, err := ourDefinition()
	if err != nil {
		return err
	}
	state, err := definitionFitness(ctx, client, ours)
	if err != nil || state == fit {
		return err
	}
	notice("installing inventory ResourceGroup CRD.")
	err = Install(ctx, client)
	if state == outdated && apierrors.IsForbidden(err) {
		notice(fmt.Sprintf("Warning: the ResourceGroup definition in the cluster is out of date; "+
			"have somebody with the right to change it run install-resource-group (%v)", err))
		return nil
	}
	return err
}
