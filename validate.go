package muster

import (
	"context"
	"fmt"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/sets"
)

// The modes of validation.
const (
	ValidateStrict = "strict"
	ValidateWarn   = "warn"
	ValidateIgnore = "ignore"
)

// Finding is what is wrong with an object of a set.
type Finding struct {
	Object Object
	Source string // file and document
	Field  string // the path of a field that is unknown or has a wrong type; empty for others
	Text   string
}

// ValidationError reports a set that is not written: the server does not know fields of its
// objects, values have wrong types, or namespaces neither exist nor are in the set.
type ValidationError struct {
	Findings []Finding
	err      *sets.ValidationError
}

func (e *ValidationError) Error() string { return e.err.Error() }

// validation returns the mode of validation.
func (o PlanOptions) validation() (string, error) {
	switch o.Validate {
	case "":
		return ValidateStrict, nil
	case ValidateStrict, ValidateWarn, ValidateIgnore:
		return o.Validate, nil
	}
	return "", fmt.Errorf("invalid validation %q: use %q, %q or %q", o.Validate, ValidateStrict,
		ValidateWarn, ValidateIgnore)
}

// fieldValidation returns what the server does about unknown fields of what is written. That of a
// revision was accepted before.
func (s *Set) fieldValidation(o PlanOptions) string {
	mode, _ := o.validation() // it was checked before
	switch {
	case mode == ValidateIgnore:
		return cluster.FieldsIgnore
	case mode == ValidateStrict && s.revision == 0:
		return cluster.FieldsStrict
	}
	return ""
}

// validate returns a *ValidationError if the objects of an operation, whose plan is made, must not
// be written. Locked is that of sets.Validate.
func (s *Set) validate(
	ctx context.Context, op *sets.Operation, o PlanOptions, locked bool,
) error {
	mode, err := o.validation()
	if err != nil || mode == ValidateIgnore {
		return err
	}
	found, err := sets.Validate(ctx, s.cluster.client, op, locked, nil)
	if err != nil {
		return err
	}
	if found.Incomplete != nil {
		s.request.Notice("Warning: fields were not validated before the run: " +
			found.Incomplete.Error())
	}
	refused, warnings := found.Err(s.revision > 0)
	if mode == ValidateWarn {
		refused, warnings = nil, found.Problems
	}
	for _, w := range append(found.Advice, warnings...) {
		s.request.Notice("Warning: " + w.String())
	}
	if refused == nil {
		return nil
	}
	failed := &ValidationError{err: refused}
	for _, p := range refused.Problems {
		failed.Findings = append(failed.Findings,
			Finding{Object: Object(p.Ref), Source: p.Source, Field: p.Field, Text: p.Text})
	}
	return failed
}
