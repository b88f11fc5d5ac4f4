package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// Store reads and writes the records of apps. Several goroutines may use it at once.
type Store struct {
	Cluster   cluster.Writer
	FullNames bool             // add the suffix to names, like kapp with KAPP_FQ_CONFIGMAP_NAMES=true
	Manager   string           // field manager of writes
	Now       func() time.Time // the clock
}

// suffix ends the full name of a record. Users may add it to the name of an app.
const suffix = ".apps.k14s.io"

// byLabels begins a label selector in place of a name.
const byLabels = "label:"

var configMap = schema.GroupKind{Kind: "ConfigMap"}

// Find returns the app of a name, or that of a selector, "label:SELECTOR". The app need not exist.
// A record that cannot be used is an error: nothing may be done with the app. Find takes one round
// trip, in which it reads both names of the record.
func (s *Store) Find(ctx context.Context, name, namespace string) (*App, error) {
	if name == "" {
		return nil, errors.New("Expected app name to be non-empty")
	}
	if text, ok := strings.CutPrefix(name, byLabels); ok {
		return s.findByLabels(text)
	}
	if namespace == "" {
		return nil, errors.New("Expected non-empty namespace")
	}
	app := &App{Name: strings.TrimSuffix(name, suffix), Namespace: namespace, store: s}
	if checkName(app.Name) != nil {
		return app, nil
	}
	var plain, full *unstructured.Unstructured
	var unread, fullUnread error
	runBoth(func() {
		plain, unread = s.read(ctx, namespace, app.Name)
	}, func() {
		full, fullUnread = s.read(ctx, namespace, app.Name+suffix)
	})
	if err := cmp.Or(fullUnread, unread); err != nil {
		return nil, &UnreadError{namespace, err}
	}
	return app, app.pick(plain, full)
}

// findByLabels returns the app of a selector.
func (s *Store) findByLabels(text string) (*App, error) {
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("Parsing app name (or label selector): %w", err)
	}
	name := selector.String()
	if name == "" {
		name = "?"
	}
	return &App{Name: name, selector: selector, store: s}, nil
}

// checkName returns an error for a name that no app can have.
func checkName(name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("Expected app name '%s' to be usable as the name of a ConfigMap: %s", name,
			strings.Join(problems, "; "))
	}
	return nil
}

// read returns a ConfigMap, or nil if there is none.
func (s *Store) read(
	ctx context.Context, namespace, name string,
) (*unstructured.Unstructured, error) {
	if checkName(name) != nil {
		return nil, nil
	}
	ref := object.Ref{Kind: configMap.Kind, Namespace: namespace, Name: name}
	found, err := s.Cluster.Read(ctx, []cluster.Target{{Ref: ref, Version: "v1"}})
	if denied := (*cluster.DeniedError)(nil); errors.As(err, &denied) {
		err = denied.Cause
	}
	if err != nil {
		return nil, err
	}
	return found.Objects[ref], nil
}

// pick sets the record from the ConfigMaps of its two names; the full name has priority.
func (a *App) pick(plain, full *unstructured.Unstructured) error {
	record := full
	if full == nil {
		record = plain
	}
	if record == nil {
		return nil
	}
	m, err := a.parse(record)
	if err != nil {
		return err
	}
	a.setRecord(record, m)
	if full != nil && plain != nil {
		if other, err := a.parse(plain); err == nil && other.LabelValue == m.LabelValue {
			a.duplicate = plain
		}
	}
	return nil
}

// parse reads a record of the app. A ConfigMap that others have created or changed is an error.
func (a *App) parse(record *unstructured.Unstructured) (Meta, error) {
	m, err := parseMeta(recordText(record))
	if err != nil {
		return Meta{}, a.recordError(record, "it holds no metadata of an app", fmt.Errorf(
			"App '%s' (namespace: %s) backed by ConfigMap '%s' did not contain parseable app metadata: %w "+
				"(hint: ConfigMap was overriden by another user?)",
			a.Name,
			a.Namespace,
			record.GetName(),
			err,
		))
	}
	if _, ok := record.GetLabels()[resource.LabelIsApp]; !ok {
		return Meta{}, a.recordError(record, fmt.Sprintf("it lacks the label %s",
			resource.LabelIsApp), fmt.Errorf(
			"App '%s' (namespace: %s) backed by ConfigMap '%s' is not marked as an app: "+
				"it has lost the label '%s' "+
				"(hint: put it back with: kubectl label configmap %s -n %s %s=)",
			a.Name,
			a.Namespace,
			record.GetName(),
			resource.LabelIsApp,
			record.GetName(),
			a.Namespace,
			resource.LabelIsApp,
		))
	}
	return m, nil
}

// UnreadError reports that the record of an app cannot be read. Its text is that of kapp.
type UnreadError struct {
	Namespace string
	Err       error
}

func (e *UnreadError) Error() string { return "Getting app: " + e.Err.Error() }

// Unwrap returns the error of the request.
func (e *UnreadError) Unwrap() error { return e.Err }

// RecordError reports a ConfigMap with the name of an app's record that is none. Its text is that
// of kapp.
type RecordError struct {
	App, Namespace, ConfigMap string
	Reason                    string // why it is no record
	text                      error
}

func (e *RecordError) Error() string { return e.text.Error() }

// Unwrap returns the error of reading the record.
func (e *RecordError) Unwrap() error { return e.text }

// recordError returns a RecordError.
func (a *App) recordError(record *unstructured.Unstructured, reason string, text error) error {
	return &RecordError{a.Name, a.Namespace, record.GetName(), reason, text}
}

// List returns the apps with a record in a namespace, or in all if that is empty, whose labels the
// selector selects; nil selects all. An app whose record cannot be read has Err set.
func (s *Store) List(
	ctx context.Context, namespace string, selector labels.Selector,
) ([]*App, error) {
	records, err := s.Cluster.List(ctx, configMap, namespace,
		map[string]string{resource.LabelIsApp: ""})
	if err != nil {
		return nil, fmt.Errorf("Listing apps: %w", err)
	}
	var apps []*App
	full := map[[2]string]string{} // labels of records with full names, which have priority
	for _, record := range records {
		if selector != nil && !selector.Matches(labels.Set(record.GetLabels())) {
			continue
		}
		app := &App{
			Name:      strings.TrimSuffix(record.GetName(), suffix),
			Namespace: record.GetNamespace(),
			store:     s,
		}
		m, err := app.parse(record)
		app.setRecord(record, m)
		app.Err = err
		if app.migrated() && err == nil {
			full[[2]string{app.Namespace, app.Name}] = m.LabelValue
		}
		apps = append(apps, app)
	}
	return slices.DeleteFunc(apps, func(a *App) bool {
		value, ok := full[[2]string{a.Namespace, a.Name}]
		return ok && !a.migrated() && value == a.Meta.LabelValue
	}), nil
}

// OtherNamespaces returns the namespaces that have an app of the name, sorted; none if the apps of
// all namespaces cannot be listed.
func (s *Store) OtherNamespaces(ctx context.Context, name string) []string {
	apps, err := s.List(ctx, "", nil)
	if err != nil {
		return nil
	}
	var found []string
	for _, app := range apps {
		if app.Name == name {
			found = append(found, app.Namespace)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// NotFoundText returns the text for an app that does not exist, with other namespaces that have
// one.
func (a *App) NotFoundText(ctx context.Context) string {
	return fmt.Sprintf("App '%s' (namespace: %s) does not exist", a.Name, a.Namespace) +
		a.hint(a.store.OtherNamespaces(ctx, a.Name))
}

// NotFoundError reports an app that does not exist. Its text is kapp's.
type NotFoundError struct {
	Name, Namespace string
	Others          []string // namespaces that have an app of the name
	text            string
}

func (e *NotFoundError) Error() string { return e.text }

// Short returns the error with the text of NotFoundText.
func (e *NotFoundError) Short() *NotFoundError {
	short := *e
	short.text = strings.Replace(e.text, "does not exist: ", "does not exist", 1)
	return &short
}

// NotFoundError returns the error of a command that needs the app.
func (a *App) NotFoundError(ctx context.Context) error {
	others := a.store.OtherNamespaces(ctx, a.Name)
	return &NotFoundError{a.Name, a.Namespace, others, fmt.Sprintf(
		"App '%s' (namespace: %s) does not exist: %s", a.Name, a.Namespace, a.hint(others))}
}

// maxHints is how many namespaces a hint names.
const maxHints = 3

// hint returns the other namespaces that have an app of the name, in parentheses.
func (a *App) hint(found []string) string {
	if len(found) == 0 {
		return ""
	}
	if len(found) > maxHints {
		found = append(slices.Clone(found[:maxHints]), "...")
	}
	return fmt.Sprintf(" (hint: found app '%s' in other namespaces: %s)", a.Name,
		strings.Join(found, ", "))
}
