package sets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/feature/drift"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/manifest/edit"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// Acceptance is how the files of a set change so that they describe what drifted.
type Acceptance struct {
	Files []AcceptedFile // in the order of their paths
	Left  []LeftValue    // what is not accepted, in the order of the objects
}

// AcceptedFile is a file that changes.
type AcceptedFile struct {
	Path          string
	Before, After []byte
	Values        []AcceptedValue

	hidden map[int]bool // numbers of documents whose content is not printed, beside Secrets
}

// AcceptedValue is a value that a file gets from the cluster.
type AcceptedValue struct {
	Ref    object.Ref
	Path   string // of the field
	Hidden bool   // it is not printed
}

// LeftValue is what drifted and is not accepted: a field, or an object if Path is empty.
type LeftValue struct {
	Ref    object.Ref
	Path   string
	Reason string // why, and what users may do
}

// Name returns the object and the field.
func (l LeftValue) Name() string { return strings.TrimSpace(l.Ref.String() + " " + l.Path) }

// Accept returns the changes of the files of a request's set. It writes nothing. Sets that have no
// files to write are refused.
func (b *Baseline) Accept(ctx context.Context, r Request, found *Drift) (*Acceptance, error) {
	if err := CheckAccept(r); err != nil {
		return nil, err
	}
	files := b
	if b.Revision != nil {
		var err error
		if files, err = openFiles(ctx, b.cluster, r, true); err != nil {
			return nil, err
		}
	}
	a := acceptor{request: r, drift: found, sources: map[object.Ref]string{}}
	for _, d := range files.desired {
		a.sources[object.RefOf(d.Object)] = d.Source
	}
	for _, ref := range found.Unserved {
		a.leave(ref, "", errors.New("it was not compared: the cluster does not serve its kind"))
	}
	for i := range found.Objects {
		if o := &found.Objects[i]; o.Counts() {
			if err := a.object(ctx, o); err != nil {
				a.leave(o.Ref, "", err)
			}
		}
	}
	result := &Acceptance{Left: a.left}
	for _, file := range a.files {
		if !bytes.Equal(file.Before, file.After) {
			result.Files = append(result.Files, *file)
		}
	}
	slices.SortFunc(result.Files, func(x, y AcceptedFile) int {
		return strings.Compare(x.Path, y.Path)
	})
	return result, nil
}

// CheckAccept returns an error for a request that names no files which can be written.
func CheckAccept(r Request) error {
	switch {
	case r.Record != "":
		return errors.New("--accept writes files, and --record names none: name the folder of the " +
			"package")
	case len(r.Files) == 0:
		return errors.New("--accept writes files: name those of the app with -f")
	}
	for _, path := range r.Files {
		if fetched, ok := r.Artifacts[path]; ok {
			return fmt.Errorf("--accept writes files, and %s is an artifact: name the folder that it is "+
				"made from, and push that", fetched.Reference)
		}
		if path == packages.Stdin || strings.Contains(path, "://") {
			return fmt.Errorf("--accept writes files, and %s is none: name the files themselves", path)
		}
	}
	return nil
}

// acceptor collects the changes of files.
type acceptor struct {
	request Request
	drift   *Drift
	sources map[object.Ref]string // where the files have the objects
	files   []*AcceptedFile
	left    []LeftValue
}

func (a *acceptor) leave(ref object.Ref, path string, reason error) {
	a.left = append(a.left, LeftValue{ref, path, reason.Error()})
}

// object changes the document of an object, one field at a time. The error is why none of its
// fields can be accepted.
func (a *acceptor) object(ctx context.Context, o *drift.Object) error {
	wanted := a.drift.wanted[o.Ref]
	switch {
	case o.Deleting || o.Kind == drift.Deleted:
		return errors.New("it was deleted: remove it from the files yourself, or create it again with " +
			"--fix")
	case o.Kind == drift.Added:
		return errors.New("it was not deployed with the set: add it to the files yourself, or delete it")
	case resource.HasAnnotation(wanted.Object, resource.AnnVersioned):
		return errors.New("versions of it are kept, and each change of its file makes another one: " +
			"change the file yourself")
	}
	source, ok := a.sources[object.RefOf(wanted.Object)]
	if !ok {
		return errors.New("the files do not have it any more: the next apply deletes it")
	}
	d, err := a.document(ctx, source, wanted.Object)
	if err != nil {
		return err
	}
	private := object.IsSecret(wanted.Object)
	var written []drift.Field
	for _, f := range o.Drifted() {
		changed, err := a.field(d, o.Ref, f)
		if err != nil {
			a.leave(o.Ref, f.Path, err)
			continue
		}
		if private = private || f.Hidden; changed || slices.ContainsFunc(written, f.Shares) {
			written = append(written, f)
			d.file.Values = append(d.file.Values, AcceptedValue{o.Ref, f.Path, f.Hidden})
		}
	}
	if private {
		d.file.hidden[d.number] = true
	}
	return nil
}

// field writes the live value of a field into a document, and reports whether that changed.
func (a *acceptor) field(d *document, ref object.Ref, f drift.Field) (changed bool, err error) {
	mark := a.drift.options.Mark
	if mark != "" && (f.Path == "metadata.labels["+mark+"]" ||
		f.Path == "metadata.annotations["+mark+"]") {
		return false, errors.New("it says which set the object belongs to: the next apply sets it again")
	}
	if strings.HasPrefix(f.Path, "metadata.ownerReferences") {
		return false, errors.New("it names an object of this cluster by its UID, which files cannot know")
	}
	open, err := edit.Open(d.file.After, d.number)
	if err != nil {
		return false, err
	}
	content, err := drift.Accept(open.Fields, a.drift.live[ref], f)
	if err != nil {
		return false, err
	}
	after, err := open.Rewrite(content)
	if err != nil {
		return false, err
	}
	changed = !bytes.Equal(after, d.file.After)
	d.file.After = after
	return changed, nil
}

// document is a document of a file.
type document struct {
	file   *AcceptedFile
	number int // counted from 1
}

// The documents that no value is written into: others write them.
var (
	template  = regexp.MustCompile(`(?m)(^|\s)#@`)
	generated = regexp.MustCompile(`(?m)^(#|//).*(\bDO NOT EDIT\b|@generated\b)`)
)

// document returns the document that a source of an object names.
func (a *acceptor) document(
	ctx context.Context, source string, obj *unstructured.Unstructured,
) (*document, error) {
	path := manifest.FileOf(source)
	switch builder := manifest.BuilderOf(source); builder {
	case "":
	case path:
		return nil, fmt.Errorf("%s builds it from other files: change those yourself", builder)
	default:
		return nil, fmt.Errorf("%s builds it from %s: change that file yourself", builder, path)
	}
	file, err := a.file(ctx, path)
	if err != nil {
		return nil, err
	}
	line, _ := strconv.Atoi(strings.TrimPrefix(source[len(path):], ":")) // 0 for the only document
	d := &document{file: file, number: edit.Number(file.Before, line)}
	open, err := edit.Open(file.After, d.number)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file.Path, err)
	case generated.Match(file.Before):
		return nil, fmt.Errorf("%s says that it is generated: change what it is generated from",
			file.Path)
	case template.Match(open.Text()):
		return nil, fmt.Errorf("%s is a template of ytt: change the file yourself", source)
	case !isObject(open.Fields, obj):
		return nil, fmt.Errorf("%s has it in a list or under another name: change the file yourself",
			source)
	}
	version := (&unstructured.Unstructured{Object: open.Fields}).GetAPIVersion()
	if deployed := obj.GetAPIVersion(); version != deployed {
		return nil, fmt.Errorf("%s has it as %s, and it was deployed as %s: apply the file first",
			source, version, deployed)
	}
	return d, nil
}

// file returns a file of the set by its path in the source of objects.
func (a *acceptor) file(ctx context.Context, path string) (*AcceptedFile, error) {
	path = filepath.FromSlash(path)
	if given := a.request.Files; len(given) == 1 {
		if info, err := os.Stat(given[0]); err == nil && info.IsDir() {
			path = filepath.Join(given[0], path)
		}
	}
	at := slices.IndexFunc(a.files, func(f *AcceptedFile) bool { return f.Path == path })
	if at >= 0 {
		return a.files[at], nil
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file that can be written: change what it comes from", path)
	}
	text, err := boundedio.ReadNamed(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	file := &AcceptedFile{Path: path, Before: text, After: bytes.Clone(text), hidden: map[int]bool{}}
	a.files = append(a.files, file)
	return file, nil
}

// isObject reports whether a document is an object of any version of its kind. It may have got its
// namespace elsewhere.
func isObject(fields map[string]any, obj *unstructured.Unstructured) bool {
	found := &unstructured.Unstructured{Object: fields}
	kind := found.GroupVersionKind().GroupKind()
	return fields != nil && kind == obj.GroupVersionKind().GroupKind() &&
		found.GetName() == obj.GetName()
}

// hiddenLine is what is printed in place of a line with values of Secrets.
const hiddenLine = "# (not shown: a Secret)"

// Printable returns both texts of a file without Secrets and what else may hold their values.
func (f AcceptedFile) Printable() (before, after []byte) {
	hides := func(number int, fields map[string]any, err error) bool {
		return err != nil || f.hidden[number] || holdsSecret(fields)
	}
	return edit.Hide(f.Before, hiddenLine, hides), edit.Hide(f.After, hiddenLine, hides)
}

// holdsSecret reports whether a document is a Secret, a list that may have some, or no map.
func holdsSecret(fields map[string]any) bool {
	_, isList := fields["items"].([]any)
	return fields == nil || isList || object.IsSecret(&unstructured.Unstructured{Object: fields})
}
