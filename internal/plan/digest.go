package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/object"
)

// Digest returns the digest of what the plan changes: the objects, the operation on each, and what
// it sends and overwrites. It stays the same while only the state of live objects changes. Random
// are texts that each plan has others of; they do not count.
func (p *Plan) Digest(random ...string) (string, error) {
	type change struct {
		Ref    object.Ref
		Op     Op
		UID    types.UID
		Digest string
	}
	changes := []change{}
	for i := range p.Steps {
		step := &p.Steps[i]
		if !step.Op.Writes() {
			continue
		}
		c := change{Ref: step.Ref, Op: step.Op}
		if step.Have != nil {
			c.UID = step.Have.GetUID()
		}
		var err error
		if c.Digest, err = p.StepDigest(step, random); err != nil {
			return "", fmt.Errorf("%s: %w", step.Ref, err)
		}
		changes = append(changes, c)
	}
	return DigestOf(random, changes)
}

// StepDigest returns the digest of what a step sends, and of what that changes; empty for a step
// that creates and updates nothing.
func (p *Plan) StepDigest(step *Step, random []string) (string, error) {
	switch {
	case step.Op == Update && (step.ServerSide || step.FullReplace):
		want := p.content(step.Want)
		if len(step.Obstacles) > 0 {
			return DigestOf(random, want, wantedPart(want, step.Have.Object), step.Replace,
				step.removed())
		}
		return DigestOf(random, want, wantedPart(want, step.Have.Object), step.Replace)
	case step.Op == Create:
		return DigestOf(random, p.content(step.Want))
	case step.Op == Update:
		return DigestOf(random, step.Patch, step.Diff)
	}
	return "", nil
}

// removed returns the names of the obstacles that a step removes.
func (s *Step) removed() []string {
	names := make([]string, len(s.Obstacles))
	for i, field := range s.Obstacles {
		names[i] = field.Field
	}
	return names
}

// content returns the fields of an object without those that the server alone writes, and without
// the annotations in which a tool keeps what it applied.
func (p *Plan) content(obj *unstructured.Unstructured) map[string]any {
	fields := maps.Clone(obj.Object)
	delete(fields, "status")
	metadata, _ := fields["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	for _, field := range object.ServerMetadata() {
		delete(metadata, field)
	}
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		annotations = maps.Clone(annotations)
		for _, key := range p.Bookkeeping {
			delete(annotations, key)
		}
		metadata["annotations"] = annotations
	}
	fields["metadata"] = metadata
	return fields
}

// wantedPart returns the part of a live value that a wanted one sets: of maps the same keys, all of
// anything else.
func wantedPart(want, live any) any {
	wanted, ok := want.(map[string]any)
	fields, same := live.(map[string]any)
	if !ok || !same {
		return live
	}
	part := map[string]any{}
	for key, value := range wanted {
		if current, ok := fields[key]; ok {
			part[key] = wantedPart(value, current)
		}
	}
	return part
}

// DigestOf returns the digest of JSON values but for random texts in them.
func DigestOf(random []string, values ...any) (string, error) {
	data, err := json.Marshal(values)
	if err != nil {
		return "", fmt.Errorf("make a digest: %w", err)
	}
	for _, text := range random {
		data = bytes.ReplaceAll(data, []byte(text), nil)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
