package packages

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// definitionState is how well the definition in the cluster can hold records.
type definitionState int

const (
	definitionCurrent  definitionState = iota
	definitionMissing                  // there is no definition
	definitionOutdated                 // there is an older one that lacks something
	definitionEarlier                  // there is one of an earlier version of the program
	definitionForeign                  // there is one that lacks something, and has more than ours
)

// definitionServed reports whether the cluster serves ResourceGroups.
func definitionServed(ctx context.Context, client cluster.Writer) (bool, error) {
	kind, err := client.Kind(ctx, inventory.ResourceGroupKind.GroupKind())
	if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) && unknown.Cause == nil {
		return false, nil
	}
	return len(kind.Served) > 0, err
}

// CheckDefinition returns an error if the cluster cannot hold the record of an inventory.
func CheckDefinition(ctx context.Context, client cluster.Writer, inv *inventory.Inventory) error {
	if inv.Ref.GroupKind() != inventory.ResourceGroupKind.GroupKind() {
		return nil
	}
	served, err := definitionServed(ctx, client)
	if err == nil && !served {
		err = ErrNoDefinition
	}
	return err
}

// definitionStateIn compares the definition in the cluster with ours. Without permission to read
// it, it counts as current.
func definitionStateIn(
	ctx context.Context, client cluster.Writer, ours *unstructured.Unstructured,
) (definitionState, error) {
	if served, err := definitionServed(ctx, client); err != nil || !served {
		return definitionMissing, err
	}
	ref := object.RefOf(ours)
	snapshot, err := client.Read(
		ctx, []cluster.Target{{Ref: ref, Version: ours.GroupVersionKind().Version}},
	)
	switch {
	case apierrors.IsForbidden(err):
		return definitionCurrent, nil
	case err != nil:
		return definitionMissing, err
	case snapshot.Objects[ref] == nil:
		return definitionCurrent, nil
	default:
		return stateOfDefinition(snapshot.Objects[ref], ours), nil
	}
}

// stateOfDefinition compares a definition in the cluster with ours.
func stateOfDefinition(live, ours *unstructured.Unstructured) definitionState {
	switch {
	case isEarlier(live):
		return definitionEarlier
	case supports(live, ours):
		return definitionCurrent
	case covers(ours.Object["spec"], live.Object["spec"]):
		return definitionOutdated
	default:
		return definitionForeign
	}
}

// earlierSpecs are the SHA-256 hashes of the specs, as JSON, that earlier versions of the program
// installed. They hold all that a record needs, but kpt, which compares the whole spec with its
// own, stops at them if its user may not change definitions.
var earlierSpecs = []string{
	"8cf88b6e1357f5d629df3ac2e2632518c22b27aba5880387272270af6fbcf6c6",
}

// isEarlier reports whether an earlier version of the program installed the definition, and nobody
// has changed it.
func isEarlier(live *unstructured.Unstructured) bool {
	text, err := json.Marshal(live.Object["spec"])
	hash := sha256.Sum256(text)
	return err == nil && slices.Contains(earlierSpecs, hex.EncodeToString(hash[:]))
}

// supports reports whether a definition can hold all that ours can. It may hold more or have other
// descriptions: another tool or a later version may have installed it.
func supports(live, ours *unstructured.Unstructured) bool {
	wanted := versionOf(ours)
	have := versionOf(live)
	return have != nil && have["served"] == true &&
		covers(
			have["schema"], wanted["schema"],
		) && covers(have["subresources"], wanted["subresources"]) &&
		textAt(live, "spec", "scope") == textAt(ours, "spec", "scope")
}

// versionOf returns the version of the definition in which records are stored, or nil.
func versionOf(definition *unstructured.Unstructured) map[string]any {
	versions, _, _ := unstructured.NestedFieldNoCopy(definition.Object, "spec", "versions")
	list, _ := versions.([]any)
	for _, item := range list {
		if version, ok := item.(map[string]any); ok &&
			version["name"] == inventory.ResourceGroupKind.Version {
			return version
		}
	}
	return nil
}

func textAt(obj *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(obj.Object, path...)
	return value
}

// covers reports whether have contains all of want except descriptions. The order of lists does not
// matter.
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
		missing := func(item any) bool {
			return !slices.ContainsFunc(have, func(other any) bool { return covers(other, item) })
		}
		return ok && !slices.ContainsFunc(want, missing)
	default:
		return have == want
	}
}

// ensureDefinition makes sure that the cluster can hold the record. A definition that lacks
// something and may not be changed, or is not ours to change, is reported and used: it holds most
// of a record.
func ensureDefinition(
	ctx context.Context, client cluster.Writer, inv *inventory.Inventory, p operation.DefinitionPolicy,
	notice func(string),
) error {
	if inv.Ref.GroupKind() != inventory.ResourceGroupKind.GroupKind() {
		return nil
	}
	switch p {
	case operation.SkipDefinition:
		return nil
	case operation.RequireDefinition:
		return CheckDefinition(ctx, client, inv)
	}
	ours, err := ourDefinition()
	if err != nil {
		return err
	}
	state, err := definitionStateIn(ctx, client, ours)
	if err != nil || state == definitionCurrent {
		return err
	}
	const installing = "installing inventory ResourceGroup CRD."
	if state == definitionForeign {
		notice("Warning: " + errForeignDefinition.Error())
		return nil
	}
	if state != definitionEarlier {
		notice(installing)
	}
	err = Install(ctx, client)
	switch forbidden := apierrors.IsForbidden(err); {
	case state == definitionEarlier && forbidden:
		return nil // it holds all that ours can
	case state == definitionEarlier && err == nil:
		notice(installing)
	case state == definitionOutdated && forbidden:
		notice(fmt.Sprintf("Warning: the ResourceGroup definition in the cluster is out of date; "+
			"ask somebody who may update it to run install-resource-group (%v)", err))
		return nil
	}
	return err
}

// prepareDefinition does what the options of PrepareApply say about the definition, and returns
// what is left to the run.
func prepareDefinition(
	ctx context.Context, c cluster.Writer, inv *inventory.Inventory, o operation.ApplyOptions,
) (operation.Definition, error) {
	left := operation.Definition{}
	if o.Definition != operation.InstallAtRun ||
		inv.Ref.GroupKind() != inventory.ResourceGroupKind.GroupKind() {
		return left, ensureDefinition(ctx, c, inv, o.Definition, o.Notice)
	}
	ours, err := ourDefinition()
	if err != nil {
		return left, err
	}
	state, err := definitionStateIn(ctx, c, ours)
	left.Text = definitionTexts[state]
	left.Define = func(ctx context.Context) (again bool, err error) {
		was := state
		if was == definitionCurrent {
			return false, nil
		}
		state = definitionCurrent
		err = ensureDefinition(ctx, c, inv, operation.InstallDefinition, o.Notice)
		// The server takes a moment to serve new fields of a definition, and drops them before.
		return was == definitionOutdated, err
	}
	return left, err
}

// definitionTexts say what a run does about the states of a definition; nothing about the others.
var definitionTexts = map[definitionState]string{
	definitionMissing: "The cluster has no ResourceGroup definition, which will be installed.",
	definitionOutdated: "The ResourceGroup definition in the cluster is out of date and will be " +
		"updated.",
	definitionEarlier: "The ResourceGroup definition in the cluster is that of an earlier version " +
		"of muster and will be replaced, if you may, by that of kpt.",
}

//go:embed crd.yaml
var definitionFile []byte

// establishTimeout limits how long the server may take to establish the definition.
const establishTimeout = 30 * time.Second

// installAttempts limits how often the definition is planned because others install it at the same
// time.
const installAttempts = 3

// ourDefinition returns the definition that ships with the program.
func ourDefinition() (*unstructured.Unstructured, error) {
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(definitionFile, &crd.Object); err != nil {
		return nil, fmt.Errorf("read the ResourceGroup definition: %w", err)
	}
	return crd, nil
}

// errForeignDefinition reports a definition that is not replaced: others would lose something.
var errForeignDefinition = errors.New("the ResourceGroup definition in the cluster lacks " +
	"something that records have, and has something that muster does not know: it stays; " +
	"update the tool that installed it")

// Install installs or updates the definition unless the cluster's is good enough: it is planned,
// written and waited for as other objects are. Then the cluster knows the kind.
func Install(ctx context.Context, client cluster.Writer) error {
	crd, err := ourDefinition()
	if err != nil {
		return err
	}
	state, err := definitionStateIn(ctx, client, crd)
	switch {
	case err == nil && state == definitionCurrent:
		return nil
	case err == nil && state == definitionForeign:
		return &InstallError{errForeignDefinition}
	}
	for attempt := 0; err == nil && attempt < installAttempts; attempt++ {
		if err = applyDefinition(ctx, client, crd); err == nil {
			return client.LearnKind(ctx, crd)
		}
		if apierrors.IsAlreadyExists(err) {
			err = nil
		}
	}
	if err == nil {
		err = errors.New("others keep installing and deleting it")
	}
	return &InstallError{err}
}

func applyDefinition(
	ctx context.Context, client cluster.Writer, crd *unstructured.Unstructured,
) error {
	eng := &engine.Engine{Cluster: client, Records: record.Discard{}}
	p, err := eng.Plan(ctx, engine.Request{
		Desired: []plan.Desired{{Object: crd}},
		Policy: plan.Policy{
			LastApplied: resource.AnnKubectlApplied, Manager: inventory.Manager, OnlyClientSide: true,
		},
	})
	if err != nil {
		return err
	}
	var last event.Event
	summary, err := eng.Apply(
		ctx, p, engine.Options{
			DryRun: engine.DryRunNone, Limits: engine.Limits{Apply: limit.After(establishTimeout)},
		},
		func(e event.Event) { last = e },
	)
	switch {
	case err != nil || summary.Failures() == 0:
		return err
	case last.Err != nil:
		return last.Err
	case summary.Interrupted:
		return context.Canceled
	default:
		return fmt.Errorf("it is not established: %s", last.Status.Message)
	}
}
