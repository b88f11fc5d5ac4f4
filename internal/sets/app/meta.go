package app

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/muster-deploy/muster/internal/record"
)

// Meta is the content of an app's record, in kapp's JSON: the names of the fields, their order, and
// when they are omitted are part of the format.
type Meta struct {
	LabelKey           string                `json:"labelKey"`
	LabelValue         string                `json:"labelValue"`
	LastDeploymentName string                `json:"lastChangeName,omitempty"`
	LastDeployment     DeploymentRecord      `json:"lastChange"` // zero if there was none
	UsedGVs            []schema.GroupVersion `json:"usedGVs,omitempty"`
	UsedGKs            *[]schema.GroupKind   `json:"usedGKs"` // nil: unknown, may be of any kind
}

// DeploymentRecord is one run against an app, in kapp's JSON. Times are in UTC, and zero until they
// are known.
type DeploymentRecord struct {
	StartedAt   time.Time `json:"startedAt"`
	FinishedAt  time.Time `json:"finishedAt"`
	Successful  *bool     `json:"successful,omitempty"` // nil until it has ended
	Description string    `json:"description,omitempty"`
	Namespaces  []string  `json:"namespaces,omitempty"` // sorted; "(cluster)": cluster-scoped
}

// JSON returns the stored form, which `--app-metadata-file-output` also writes.
func (m Meta) JSON() string { return encode(m) }

// JSON returns the stored form.
func (c DeploymentRecord) JSON() string { return encode(c) }

// encode returns the JSON of a Meta or DeploymentRecord. It fails only for times after the year
// 9999, which neither clocks nor readable records contain.
func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encode a record: %v", err))
	}
	return string(text)
}

// parseMeta reads the text of a record. Labels that are empty or invalid are errors: an empty label
// would select the objects of others.
func parseMeta(text string) (Meta, error) {
	var m Meta
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return Meta{}, fmt.Errorf("Parsing app metadata: %w", err)
	}
	if m.LabelKey == "" || m.LabelValue == "" {
		return Meta{}, errors.New("Expected 'labelKey' and 'labelValue' to be non-empty")
	}
	if problems := validation.IsQualifiedName(m.LabelKey); len(problems) > 0 {
		return Meta{}, fmt.Errorf("Expected 'labelKey' to be a label key, but was '%s': %s", m.LabelKey,
			problems[0])
	}
	if problems := validation.IsValidLabelValue(m.LabelValue); len(problems) > 0 {
		return Meta{}, fmt.Errorf("Expected 'labelValue' to be a label value, but was '%s': %s",
			m.LabelValue, problems[0])
	}
	return m, nil
}

// covering returns the content with the kinds and namespaces of members, if it names kinds.
func (m Meta) covering(members []record.Member) Meta {
	if m.UsedGKs == nil {
		return m
	}
	kinds, namespaces := map[schema.GroupKind]bool{}, map[string]bool{}
	for _, gk := range *m.UsedGKs {
		kinds[gk] = true
	}
	for _, namespace := range m.LastDeployment.Namespaces {
		namespaces[namespace] = true
	}
	var more []schema.GroupKind
	var in []string
	for _, member := range members {
		if gk := member.Ref.GroupKind(); !kinds[gk] {
			kinds[gk], more = true, append(more, gk)
		}
		if namespace := cmp.Or(member.Ref.Namespace, clusterScope); !namespaces[namespace] {
			namespaces[namespace], in = true, append(in, namespace)
		}
	}
	if len(more) > 0 {
		m.setUsed(m.used().union(usedOf(nil, more)))
	}
	if len(in) > 0 {
		m.LastDeployment.Namespaces = sortedNames(slices.Concat(m.LastDeployment.Namespaces, in))
	}
	return m
}

// parseDeployment reads the text of the record of a deployment.
func parseDeployment(text string) (DeploymentRecord, error) {
	var c DeploymentRecord
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return DeploymentRecord{}, fmt.Errorf("Parsing app change metadata: %w", err)
	}
	return c, nil
}

// used is the kinds and versions of an app's objects.
type used struct {
	versions []schema.GroupVersion
	kinds    *[]schema.GroupKind
}

func (m Meta) used() used { return used{m.UsedGVs, m.UsedGKs} }

func (m *Meta) setUsed(u used) { m.UsedGVs, m.UsedGKs = u.versions, u.kinds }

// usedOf returns kinds and versions in the order of the format, each once.
func usedOf(versions []schema.GroupVersion, kinds []schema.GroupKind) used {
	versions = slices.Clone(versions)
	slices.SortFunc(versions,
		func(a, b schema.GroupVersion) int { return cmp.Compare(a.Group+a.Version, b.Group+b.Version) })
	kinds = append([]schema.GroupKind{}, kinds...) // an empty list is not null in the format
	slices.SortFunc(kinds,
		func(a, b schema.GroupKind) int { return cmp.Compare(a.Group+a.Kind, b.Group+b.Kind) })
	kinds = slices.Compact(kinds)
	return used{slices.Compact(versions), &kinds}
}

// restrictTo returns the part for some kinds, with the versions of their groups. If the kinds are
// unknown, all may be used.
func (u used) restrictTo(some []schema.GroupKind) used {
	kinds, groups := []schema.GroupKind{}, map[string]bool{}
	for _, gk := range some {
		if u.kinds == nil || slices.Contains(*u.kinds, gk) {
			kinds = append(kinds, gk)
			groups[gk.Group] = true
		}
	}
	versions := slices.DeleteFunc(slices.Clone(u.versions),
		func(gv schema.GroupVersion) bool { return !groups[gv.Group] })
	return usedOf(versions, kinds)
}

// union returns the kinds of both. It is unknown if one is.
func (u used) union(other used) used {
	if u.kinds == nil || other.kinds == nil {
		return used{usedOf(slices.Concat(u.versions, other.versions), nil).versions, nil}
	}
	return usedOf(slices.Concat(u.versions, other.versions), slices.Concat(*u.kinds, *other.kinds))
}
