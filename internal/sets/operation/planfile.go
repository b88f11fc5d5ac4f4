package operation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/base/atomicfile"
	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// savedVersion is the format of saved plans. Files in other formats are refused.
const savedVersion = "muster/plan/v1"

// SavedPlan is a plan in a file. It holds digests instead of objects, so that applying it means
// planning again and comparing.
type SavedPlan struct {
	Form      string         `json:"form"`
	Muster    string         `json:"muster"` // version that made it
	Server    savedServer    `json:"server"`
	Inventory string         `json:"inventory"` // the record: of a package, namespace/name and ID
	Package   string         `json:"package"`   // digest of all objects of the set
	Options   policy.Options `json:"options"`
	Steps     []savedStep    `json:"steps"`
}

// savedServer identifies a cluster by the UID of a namespace that every cluster has, or else by its
// address.
type savedServer struct {
	Host    string    `json:"host"`
	UID     types.UID `json:"uid,omitempty"`
	Unknown bool      `json:"uidUnknown,omitempty"` // the UID: the namespace could not be read
}

// savedStep is the step of one object, with the digest of what it sends and of what that changes.
type savedStep struct {
	Ref             object.Ref `json:"ref"`
	Op              plan.Op    `json:"op"`
	Reason          string     `json:"reason,omitempty"`
	UID             types.UID  `json:"uid,omitempty"`
	ResourceVersion string     `json:"resourceVersion,omitempty"`
	Digest          string     `json:"digest,omitempty"`
}

// PlanSource is what a plan is saved from, of either kind of set.
type PlanSource struct {
	Version string // of the program
	Noun    string // of the set: package or app
	Record  string // identifies the record of the set
	Objects []any  // all desired objects, as JSON values
	Options policy.Options
	Plan    *plan.Plan
	// Random are texts in the objects that each plan has others of, as the label of a new app.
	Random []string
}

// Source returns what a saved plan of the operation keeps, with what the set and its record are
// called.
func (o *Operation) Source(noun, record string) PlanSource {
	source := PlanSource{
		Noun: noun, Record: record, Options: o.options, Plan: o.plan, Random: o.Random,
	}
	for _, d := range o.Desired {
		source.Objects = append(source.Objects, d.Object.Object)
	}
	return source
}

// SavePlan returns a plan in the format of the file.
func SavePlan(ctx context.Context, c cluster.Reader, source PlanSource) (*SavedPlan, error) {
	server, err := identify(ctx, c)
	if err != nil {
		return nil, err
	}
	s := &SavedPlan{
		Form: savedVersion, Muster: source.Version, Server: server, Inventory: source.Record,
		Options: source.Options, Steps: []savedStep{},
	}
	if s.Package, err = plan.DigestOf(source.Random, source.Objects...); err != nil {
		return nil, err
	}
	for i := range source.Plan.Steps {
		step := &source.Plan.Steps[i]
		if !step.Op.IsObject() {
			continue
		}
		saved, err := source.saveStep(step)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.Ref, err)
		}
		s.Steps = append(s.Steps, saved)
	}
	return s, nil
}

// Digest returns the digest of what the plan does to the set's objects: the operation on each, and
// what it sends. Unlike the saved plan it stays the same while only the state of live objects
// changes.
func (s *SavedPlan) Digest() (string, error) {
	type change struct {
		Ref    object.Ref
		Op     plan.Op
		Digest string
	}
	changes := []change{}
	for _, step := range s.Steps {
		if step.Op.Writes() {
			changes = append(changes, change{step.Ref, step.Op, step.Digest})
		}
	}
	data, err := json.Marshal([]any{s.Inventory, changes})
	if err != nil {
		return "", fmt.Errorf("make a digest: %w", err)
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

func (source PlanSource) saveStep(step *plan.Step) (s savedStep, err error) {
	s = savedStep{Ref: step.Ref, Op: step.Op, Reason: step.Reason}
	if step.Leaving != nil {
		s.Reason = "" // it is the same creation once the object is gone
	}
	if step.Have != nil {
		s.UID, s.ResourceVersion = step.Have.GetUID(), step.Have.GetResourceVersion()
	}
	s.Digest, err = source.Plan.StepDigest(step, source.Random)
	return s, err
}

// identify returns the identity of the cluster. Without permission to read the namespace, it is the
// address alone.
func identify(ctx context.Context, client cluster.Reader) (savedServer, error) {
	server := savedServer{Host: client.Host(), Unknown: true}
	system := object.Ref{Kind: "Namespace", Name: "kube-system"}
	snapshot, err := client.Read(ctx, []cluster.Target{{Ref: system}})
	if apierrors.IsForbidden(err) {
		return server, nil
	}
	if err != nil {
		return server, fmt.Errorf("find out which cluster this is: %w", err)
	}
	if obj := snapshot.Objects[system]; obj != nil {
		server.UID, server.Unknown = obj.GetUID(), obj.GetUID() == ""
	}
	return server, nil
}

// WritePlan writes a saved plan to a file that only its owner may read. It replaces an older file
// in one step.
func WritePlan(path string, s *SavedPlan, outputs ...*os.File) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("save the plan: %w", err)
	}
	if err := atomicfile.Write(path, append(text, '\n'), 0o600, outputs...); err != nil {
		return fmt.Errorf("save the plan: %w", err)
	}
	return nil
}

// ReadPlan reads a file that WritePlan wrote.
func ReadPlan(ctx context.Context, path string) (*SavedPlan, error) {
	text, err := boundedio.ReadNamed(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	s := &SavedPlan{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf(
			"read the plan %s: it is not a saved plan; create one with plan --out: %w", path, err,
		)
	}
	if s.Form != savedVersion {
		return nil, fmt.Errorf(
			"read the plan %s: it is not a saved plan in the format %s; create it again with plan --out",
			path, savedVersion,
		)
	}
	if problem := s.invalid(); problem != "" {
		return nil, fmt.Errorf(
			"read the plan %s: the file is damaged or was edited: %s; create it again with plan --out",
			path, problem,
		)
	}
	return s, nil
}

// invalid returns something that WritePlan never writes, or an empty string.
func (s *SavedPlan) invalid() string {
	switch {
	case s.Server.Host == "":
		return "it has no address of the cluster"
	case (s.Server.UID == "") != s.Server.Unknown:
		return "it does not say which cluster it is for (server.uid)"
	case s.Inventory == "":
		return "it has no record"
	case s.Package == "":
		return "it has no digest of the objects"
	case s.Options.FieldManager == "":
		return "it has no field manager"
	case s.Steps == nil:
		return "it has no steps"
	}
	for _, step := range s.Steps {
		switch {
		case pastTense[step.Op] == "":
			return fmt.Sprintf("%s has the operation %q", step.Ref, step.Op)
		case step.Digest == "" && (step.Op == plan.Create || step.Op == plan.Update):
			return fmt.Sprintf("%s has no digest", step.Ref)
		}
	}
	if len(s.byRef()) != len(s.Steps) {
		return "it has an object twice"
	}
	return ""
}
