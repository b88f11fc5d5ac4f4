package packages

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// savedVersion is the form of saved plans. A file of another form is refused.
const savedVersion = "muster/plan/v1"

// SavedPlan is a plan as it lies in a file: what would be done to which object, and by what it was decided. It holds no
// content of any object, only digests, so that what is applied is always planned anew and compared.
type SavedPlan struct {
	Form      string      `json:"form"`
	Muster    string      `json:"muster"` // version that made it
	Server    savedServer `json:"server"`
	Inventory string      `json:"inventory"` // namespace/name and ID
	Package   string      `json:"package"`   // digest of all objects of the package
	Options   PlanOptions `json:"options"`
	Steps     []savedStep `json:"steps"`
}

// savedServer tells clusters apart: by the UID of a namespace that each has, else by their address.
type savedServer struct {
	Host string    `json:"host"`
	UID  types.UID `json:"uid,omitempty"`
}

// savedStep is one object: what would be done, to which, and the digest of what would be sent and of what it would change.
type savedStep struct {
	Ref             object.Ref `json:"ref"`
	Op              plan.Op    `json:"op"`
	Reason          string     `json:"reason,omitempty"`
	UID             types.UID  `json:"uid,omitempty"`
	ResourceVersion string     `json:"resourceVersion,omitempty"`
	Digest          string     `json:"digest,omitempty"`
}

// Save returns the plan in the form of the file; version is that of the program.
func (o *Operation) Save(ctx context.Context, version string) (*SavedPlan, error) {
	server, err := identify(ctx, o.Cluster)
	if err != nil {
		return nil, err
	}
	s := &SavedPlan{
		Form:      savedVersion,
		Muster:    version,
		Server:    server,
		Inventory: fmt.Sprintf("%s %s", o.Inventory.Ref, o.Inventory.ID),
		Options:   o.options,
		Steps:     []savedStep{},
	}
	var objects []any
	for _, d := range o.Desired {
		objects = append(objects, d.Object.Object)
	}
	if s.Package, err = digest(objects...); err != nil {
		return nil, err
	}
	for i := range o.Plan.Steps {
		step := &o.Plan.Steps[i]
		if !step.Op.IsObject() {
			continue
		}
		saved, err := saveStep(o.Plan, step)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.Ref, err)
		}
		s.Steps = append(s.Steps, saved)
	}
	return s, nil
}

func saveStep(p *plan.Plan, step *plan.Step) (s savedStep, err error) {
	s = savedStep{Ref: step.Ref, Op: step.Op, Reason: step.Reason}
	if step.Have != nil {
		s.UID, s.ResourceVersion = step.Have.GetUID(), step.Have.GetResourceVersion()
	}
	switch {
	case step.Op == plan.Update && p.ServerSide:
		s.Digest, err = digest(step.Want.Object, overlap(step.Want.Object, step.Have.Object))
	case step.Op == plan.Create:
		s.Digest, err = digest(step.Want.Object)
	case step.Op == plan.Update:
		s.Digest, err = digest(step.Patch, step.Diff)
	}
	return s, err
}

// overlap is the part of what is live that a wanted value speaks of: lists as a whole, of maps the keys that it has.
func overlap(want, live any) any {
	wanted, ok := want.(map[string]any)
	fields, same := live.(map[string]any)
	if !ok || !same {
		return live
	}
	part := map[string]any{}
	for key, value := range wanted {
		if current, ok := fields[key]; ok {
			part[key] = overlap(value, current)
		}
	}
	return part
}

func digest(values ...any) (string, error) {
	data, err := json.Marshal(values)
	if err != nil {
		return "", fmt.Errorf("make a digest: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// identify finds out which cluster this is. Who may not look at the namespace knows the address alone.
func identify(ctx context.Context, client Cluster) (savedServer, error) {
	server := savedServer{Host: client.Host()}
	system := object.Ref{Kind: "Namespace", Name: "kube-system"}
	snapshot, err := client.Read(ctx, []cluster.Target{{Ref: system}})
	if apierrors.IsForbidden(err) {
		return server, nil
	}
	if err != nil {
		return server, fmt.Errorf("find out which cluster this is: %w", err)
	}
	if obj := snapshot.Objects[system]; obj != nil {
		server.UID = obj.GetUID()
	}
	return server, nil
}

// WritePlan puts a saved plan into a file that its owner alone can read. An older file is replaced as a whole.
func WritePlan(path string, s *SavedPlan) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("save the plan: %w", err)
	}
	if err := replaceFile(path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("save the plan: %w", err)
	}
	return nil
}

// ReadPlan reads what WritePlan wrote.
func ReadPlan(path string) (*SavedPlan, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	s := &SavedPlan{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("read the plan %s: it is no saved plan; make one with plan --out: %w", path, err)
	}
	if s.Form != savedVersion {
		return nil, fmt.Errorf("read the plan %s: it is no saved plan of this form (%s); make it anew with plan --out", path, savedVersion)
	}
	if problem := s.problem(); problem != "" {
		return nil, fmt.Errorf("read the plan %s: the file is damaged or was edited: %s; make it anew with plan --out", path, problem)
	}
	return s, nil
}

// problem is something that plan --out never writes; empty if there is nothing of the kind.
func (s *SavedPlan) problem() string {
	if s.Options.FieldManager == "" {
		return "it has no field manager"
	}
	for _, step := range s.Steps {
		if pastTense[step.Op] == "" {
			return fmt.Sprintf("%s has the operation %q", step.Ref, step.Op)
		}
	}
	if len(s.byRef()) != len(s.Steps) {
		return "it has an object twice"
	}
	return ""
}
