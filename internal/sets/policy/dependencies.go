package policy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/base/yamlsize"
	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/policy/changegraph"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
)

// AnnotationError reports an invalid value of an annotation.
type AnnotationError struct {
	Key string
	Err error
}

func (e *AnnotationError) Error() string { return fmt.Sprintf("annotation %s: %v", e.Key, e.Err) }

func (e *AnnotationError) Unwrap() error { return e.Err }

// ReferenceError reports a reference of depends-on that cannot be parsed.
type ReferenceError struct {
	Index   int // from 0
	Text    string
	Problem string
}

func (e *ReferenceError) Error() string {
	return fmt.Sprintf("reference %d: %q %s", e.Index+1, e.Text, e.Problem)
}

// RepeatedError reports that depends-on names an object twice.
type RepeatedError struct {
	Ref  object.Ref
	text string
}

func (e *RepeatedError) Error() string { return fmt.Sprintf("%q is named twice", e.text) }

// DependsOn parses the depends-on annotation: references separated by commas, each GROUP/KIND/NAME
// or GROUP/namespaces/NAMESPACE/KIND/NAME. The core group is empty. It returns the valid references
// and one AnnotationError for each of the others.
func DependsOn(obj *unstructured.Unstructured) ([]object.Ref, error) {
	value, ok := object.AnnotationsOf(obj).Lookup(DependsOnKey)
	if !ok {
		return nil, nil
	}
	var refs []object.Ref
	var errs []error
	known := object.NewSet()
	for i, text := range strings.Split(value, ",") {
		text = strings.TrimSpace(text)
		ref, problem := parseReference(text)
		switch {
		case problem != "":
			errs = append(errs,
				&AnnotationError{DependsOnKey, &ReferenceError{Index: i, Text: text, Problem: problem}})
		case known.Has(ref):
			errs = append(errs, &AnnotationError{DependsOnKey, &RepeatedError{Ref: ref, text: text}})
		default:
			known.Insert(ref)
			refs = append(refs, ref)
		}
	}
	return refs, errors.Join(errs...)
}

// parseReference parses a reference, or returns the problem with it.
func parseReference(text string) (ref object.Ref, problem string) {
	fields := strings.Split(text, "/")
	switch {
	case len(fields) == 3:
		ref = object.Ref{Group: fields[0], Kind: fields[1], Name: fields[2]}
	case len(fields) == 5 && fields[1] == "namespaces":
		ref = object.Ref{Group: fields[0], Namespace: fields[2], Kind: fields[3], Name: fields[4]}
		if ref.Namespace == "" {
			return ref, "has an empty namespace"
		}
	default:
		return ref, "is neither GROUP/KIND/NAME nor GROUP/namespaces/NAMESPACE/KIND/NAME"
	}
	if ref.Kind == "" || ref.Name == "" {
		return ref, "has no kind or no name"
	}
	return ref, ""
}

// groupsAndOwnRules are the change groups that kapp gives objects by their kinds, so that rules can
// name them, and those of Config documents with their rules. Sets have an order of kinds of their
// own instead of kapp's rules.
type groupsAndOwnRules struct{ *config.Config }

// ChangeRules returns the rules of Config documents for an object.
func (g groupsAndOwnRules) ChangeRules(obj *unstructured.Unstructured) []config.RuleBinding {
	return g.Own().ChangeRules(obj)
}

// maxWaits limits how often objects wait for others by change rules: a plan has each.
const maxWaits = 1_000_000

// constraintsOf returns a function that returns the order that the change groups and rules of
// objects, and those of a configuration, ask for.
func constraintsOf(
	rules *config.Config,
) func([]plan.Ordered) (waits [][]int, errs []error, err error) {
	return func(objects []plan.Ordered) (waits [][]int, errs []error, err error) {
		return constraints(objects, groupsAndOwnRules{rules})
	}
}

// constraints returns the order that the change groups and rules of objects ask for.
func constraints(
	objects []plan.Ordered, groups groupsAndOwnRules,
) (waits [][]int, errs []error, err error) {
	nodes, errs := make([]changegraph.Node, len(objects)), make([]error, len(objects))
	ruled := false
	for i, o := range objects {
		node, err := changegraph.Read(o.Object, groups)
		if err != nil {
			errs[i] = changegraph.Explain(err, o.Object, groups)
			node = changegraph.Node{}
		}
		if node.Op = changegraph.Upsert; o.Removed {
			node.Op = changegraph.Delete
		}
		nodes[i], ruled = node, ruled || len(node.Rules) > 0
	}
	if !ruled {
		return make([][]int, len(objects)), errs, nil
	}
	graph, err := changegraph.Build(nodes, changegraph.Options{KeepCycles: true})
	if err == nil && graph.Waits() > maxWaits {
		err = fmt.Errorf("change rules let objects wait for others more than %d times: name smaller "+
			"groups", maxWaits)
	}
	if err != nil {
		return nil, nil, err
	}
	return graph.Direct(), errs, nil
}

// UnknownGroups returns the groups that change rules of desired objects name and no object has.
func UnknownGroups(desired []plan.Desired, rules *config.Config) map[object.Ref][]string {
	groups, nodes := groupsAndOwnRules{rules}, make([]changegraph.Node, len(desired))
	for i, d := range desired {
		// The plan has reported the errors.
		nodes[i], _ = changegraph.Read(d.Object, groups)
	}
	found := map[object.Ref][]string{}
	for _, unknown := range changegraph.UnknownGroups(nodes) {
		ref := object.RefOf(desired[unknown.Node].Object)
		found[ref] = append(found[ref], unknown.Group)
	}
	return found
}

// substitution is an entry of the apply-time-mutation annotation.
type substitution struct {
	SourceRef  sourceReference `json:"sourceRef"`
	SourcePath string          `json:"sourcePath"`
	TargetPath string          `json:"targetPath"`
	Token      string          `json:"token"`
}

// sourceReference names an object. Group wins over APIVersion; without both it is the core group.
type sourceReference struct {
	Group      string `json:"group"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"` // empty for that of the object with the annotation
	Name       string `json:"name"`
}

// substitutions parses the apply-time-mutation annotation, a list in YAML. Its error joins one
// AnnotationError for each invalid entry.
func substitutions(obj *unstructured.Unstructured) ([]mutation.Substitution, error) {
	value, ok := object.AnnotationsOf(obj).Lookup(MutationKey)
	if !ok {
		return nil, nil
	}
	entries, err := readSubstitutions(value)
	if err != nil {
		return nil, err
	}
	list := make([]mutation.Substitution, len(entries))
	var errs []error
	for i, entry := range entries {
		group, err := entry.SourceRef.group()
		list[i] = mutation.Substitution{
			Source: object.Ref{
				Group:     group,
				Kind:      entry.SourceRef.Kind,
				Namespace: entry.SourceRef.Namespace,
				Name:      entry.SourceRef.Name,
			},
			From:  entry.SourcePath,
			To:    entry.TargetPath,
			Token: entry.Token,
		}
		if err == nil {
			err = entry.check()
		}
		if err != nil {
			errs = append(errs, &AnnotationError{MutationKey, fmt.Errorf("entry %d: %w", i+1, err)})
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return list, nil
}

// readSubstitutions parses the entries without checking their values.
func readSubstitutions(value string) ([]substitution, error) {
	const form = "it must be a list of entries with sourceRef, sourcePath, targetPath and perhaps " +
		"token"
	if err := yamlsize.Check([]byte(value)); err != nil {
		return nil, &AnnotationError{MutationKey, err}
	}
	text, err := yaml.YAMLToJSONStrict([]byte(value))
	if err != nil {
		_, cause, _ := strings.Cut(err.Error(), "yaml: ")
		return nil, &AnnotationError{MutationKey, fmt.Errorf("it is not YAML: %s; %s", cause, form)}
	}
	var items []json.RawMessage
	if err := json.Unmarshal(text, &items); err != nil {
		return nil, &AnnotationError{MutationKey, errors.New(form)}
	}
	entries := make([]substitution, len(items))
	var errs []error
	for i, item := range items {
		if err := yaml.UnmarshalStrict(item, &entries[i]); err != nil {
			errs = append(errs,
				&AnnotationError{MutationKey, fmt.Errorf("entry %d: %s", i+1, entryProblem(item, err))})
		}
	}
	return entries, errors.Join(errs...)
}

// entryProblem returns why an entry, as JSON, cannot be parsed.
func entryProblem(item []byte, err error) string {
	wrong := (*json.UnmarshalTypeError)(nil)
	if !errors.As(json.Unmarshal(item, &substitution{}), &wrong) {
		text := err.Error()
		return text[strings.LastIndex(text, "json: ")+len("json: "):]
	}
	want := "a map"
	if wrong.Type.Kind() == reflect.String {
		want = "a string"
	}
	return fmt.Sprintf("%s must be %s, got %s", cmp.Or(wrong.Field, "it"), want, wrong.Value)
}

func (s sourceReference) group() (string, error) {
	if s.Group != "" {
		return s.Group, nil
	}
	version, err := schema.ParseGroupVersion(s.APIVersion)
	if err != nil {
		return "", fmt.Errorf(
			"sourceRef.apiVersion %q is neither VERSION nor GROUP/VERSION", s.APIVersion,
		)
	}
	return version.Group, nil
}

// check returns the first missing or invalid field.
func (s substitution) check() error {
	for _, field := range []struct{ name, value string }{
		{"sourceRef.kind", s.SourceRef.Kind}, {"sourceRef.name", s.SourceRef.Name},
		{"sourcePath", s.SourcePath}, {"targetPath", s.TargetPath},
	} {
		if field.value == "" {
			return fmt.Errorf("%s is missing", field.name)
		}
	}
	if err := mutation.CheckPath(s.SourcePath); err != nil {
		return fmt.Errorf("sourcePath: %w", err)
	}
	if err := mutation.CheckPath(s.TargetPath); err != nil {
		return fmt.Errorf("targetPath: %w", err)
	}
	return nil
}
