package sets

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/feature/adopt"
	"github.com/muster-deploy/muster/internal/object"
)

// undoInfo is what continues an adoption, and what restores the set as its tool had it.
type undoInfo struct {
	Request adopt.Request   `json:"request"`
	From    adopt.Set       `json:"from"`
	Objects []adoptedObject `json:"objects"`      // those that the adoption has changed, or may have
	ID      string          `json:"id,omitempty"` // of the inventory of the adopting package
	// Retired means that the adoption is complete: the tool does not find its record any more.
	Retired bool `json:"-"`
	// Undoing means that an undo has begun: a part of the record and of the objects is the tool's.
	Undoing bool `json:"-"`
	// Finishing means that the adoption is final: what an undo needs is being deleted.
	Finishing bool `json:"-"`
}

// adoptedObject is what restores one object. The values of labels and annotations are those before
// the adoption, nil for none.
type adoptedObject struct {
	Ref         object.Ref         `json:"ref"`
	Version     string             `json:"version"` // of its API
	UID         types.UID          `json:"uid"`
	Labels      map[string]*string `json:"labels,omitempty"`
	Annotations map[string]*string `json:"annotations,omitempty"`
	// Hidden are the annotations that lack the data of the Secret.
	Hidden []string `json:"hidden,omitempty"`

	Manager  string                      `json:"manager"` // to which the fields of Managers moved
	Managers []metav1.ManagedFieldsEntry `json:"managers,omitempty"`
}

// undoStore keeps what an undo needs in Secrets beside the record of the adopting set: annotations
// may have the data of Secrets.
type undoStore struct {
	cluster         cluster.Writer
	kind            string // of the adopting set
	namespace, name string
	// stored is the first Secret as this store has read or written it last; nil for none. What others
	// have written since is not overwritten.
	stored *unstructured.Unstructured
}

// The type, the labels, the annotation and the key of these Secrets.
const (
	undoType  = "muster.dev/adoption"
	undoLabel = "muster.dev/adopts" // a digest of the request, so that another adoption finds it
	undoKey   = "undo"

	// Annotations of the first Secret: the number of all, which of several writes made them, and
	// how far the adoption is.
	undoParts      = "muster.dev/parts"
	undoGeneration = "muster.dev/generation"
	undoState      = "muster.dev/state"
)

// How far an adoption is. A state is stored by one request, which changes nothing else.
const (
	stateRetired   = "retired"
	stateUndoing   = "undoing"
	stateFinishing = "finishing"
)

// The limits of the data of one Secret in bytes, and of the number of Secrets of an adoption.
const maxUndoPart, maxUndoParts = 700 << 10, 1000

// maxUndo limits what is unpacked, in bytes.
const maxUndo = 64 << 20

func newUndoStore(c cluster.Writer, f *format, namespace, name string) *undoStore {
	return &undoStore{cluster: c, kind: f.kind, namespace: namespace, name: name}
}

// title returns what messages call the adopting set.
func (s *undoStore) title() string { return fmt.Sprintf("%s %q", s.kind, s.name) }

// undoPrefix begins the names of the Secrets.
const undoPrefix = "muster-adoption."

// ref returns the Secret with a number, from 1, of a generation. The name of the first one has
// neither: it is what names the others. No name of a set makes the names of two Secrets equal.
func (s *undoStore) ref(number, generation int) object.Ref {
	name := undoPrefix + s.kind + "." + s.name
	if number > 1 {
		name = fmt.Sprintf("muster-adoption-%d-%d.%s.%s", number, generation, s.kind, s.name)
	}
	return object.Ref{Kind: "Secret", Namespace: s.namespace, Name: name}
}

// first returns the Secret that names all others.
func (s *undoStore) first() object.Ref { return s.ref(1, 0) }

// read returns a Secret, nil if there is none. Another Secret of this name is an error.
func (s *undoStore) read(
	ctx context.Context, ref object.Ref,
) (*unstructured.Unstructured, error) {
	found, err := s.cluster.Read(ctx, []cluster.Target{{Ref: ref, Version: "v1"}})
	if err != nil {
		return nil, err
	}
	obj := found.Objects[ref]
	if obj != nil && obj.Object["type"] != undoType {
		return nil, fmt.Errorf("%s has the name of what an undo of this adoption needs, and is another "+
			"Secret: rename it, or the new set", ref)
	}
	return obj, nil
}

// partsOf returns the Secrets that the first one names, itself first, and their generation.
func (s *undoStore) partsOf(first *unstructured.Unstructured) (refs []object.Ref, generation int) {
	parts, _ := strconv.Atoi(first.GetAnnotations()[undoParts])
	generation, _ = strconv.Atoi(first.GetAnnotations()[undoGeneration])
	for number := 1; number <= min(max(parts, 1), maxUndoParts); number++ {
		refs = append(refs, s.ref(number, generation))
	}
	return refs, generation
}

// load returns what is stored, nil if nothing is.
func (s *undoStore) load(ctx context.Context) (*undoInfo, error) {
	first, err := s.read(ctx, s.first())
	if err != nil {
		return nil, err
	}
	if s.stored = first; first == nil {
		return nil, nil
	}
	refs, _ := s.partsOf(first)
	var packed []byte
	for _, ref := range refs {
		obj, err := s.read(ctx, ref)
		if err != nil {
			return nil, err
		}
		if obj == nil {
			return nil, fmt.Errorf("%s is missing", ref)
		}
		text, _, _ := unstructured.NestedString(obj.Object, "data", undoKey)
		part, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", ref, err)
		}
		packed = append(packed, part...)
	}
	undo, err := unpack(packed)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.first(), err)
	}
	state := first.GetAnnotations()[undoState]
	undo.Finishing = state == stateFinishing
	undo.Undoing = state == stateUndoing
	undo.Retired = undo.Finishing || state == stateRetired
	return undo, nil
}

// checkOf returns an error unless an adoption is that of a set. Two packages may have one name.
func (u *undoInfo) checkOf(ctx context.Context, c cluster.Writer, set Set) error {
	if u == nil || u.ID == "" || set == nil {
		return nil
	}
	own, err := ownerOf(ctx, c, set)
	if err == nil && own.ID != u.ID {
		err = fmt.Errorf("another %s, with the inventory ID %s, adopts or has adopted %s: %s has the "+
			"same name, and another inventory ID", set.Title(), u.ID, u.From.Title, set.Title())
	}
	return err
}

// unpack reads what save has packed.
func unpack(packed []byte) (*undoInfo, error) {
	text, err := boundedio.NewUnpacker(maxUndo).Gunzip(packed)
	if err != nil {
		return nil, err
	}
	undo := &undoInfo{}
	return undo, json.Unmarshal(text, undo)
}

// digest returns what identifies a set of another tool in a label.
func digest(r adopt.Request) string {
	sum := sha256.Sum256([]byte(AdoptionLock(r).ID))
	return hex.EncodeToString(sum[:16])
}

// other returns an error if another set adopts, or has adopted, what a request names: a part of the
// objects may have lost the marks of the tool.
func (s *undoStore) other(ctx context.Context, r adopt.Request) error {
	namespaces := []string{r.Namespace, s.namespace}
	for _, namespace := range slices.Compact(namespaces) {
		found, err := s.cluster.ListMetadata(ctx, s.first().GroupKind(), namespace,
			map[string]string{undoLabel: digest(r)})
		if err != nil {
			return err
		}
		for _, m := range found {
			kind, name, _ := strings.Cut(strings.TrimPrefix(m.Name, undoPrefix), ".")
			return fmt.Errorf("%s %q in namespace %s adopts it already: continue that adoption, undo it "+
				"(adopt --undo), or make it final (adopt --finish)", kind, name, m.Namespace)
		}
	}
	return nil
}

// save stores what an undo needs. The first Secret is written last, so that it names at each moment
// parts that exist and belong together.
func (s *undoStore) save(ctx context.Context, undo *undoInfo) error {
	text, err := json.Marshal(undo)
	if err != nil {
		return err
	}
	parts := slices.Collect(slices.Chunk(boundedio.Gzip(text), maxUndoPart))
	var former []object.Ref
	generation := 0
	if s.stored != nil {
		former, generation = s.partsOf(s.stored)
		generation++
	}
	for i := len(parts) - 1; i >= 0; i-- {
		obj := namedObject(s.ref(i+1, generation), "v1")
		obj.SetAnnotations(map[string]string{
			undoParts: strconv.Itoa(len(parts)), undoGeneration: strconv.Itoa(generation),
		})
		if i == 0 {
			obj.SetLabels(map[string]string{undoLabel: digest(undo.Request)})
		}
		obj.Object["data"] = map[string]any{undoKey: base64.StdEncoding.EncodeToString(parts[i])}
		before := s.stored
		if i > 0 { // an interrupted save may have left it
			if before, err = s.read(ctx, object.RefOf(obj)); err != nil {
				return err
			}
		}
		stored, err := s.write(ctx, obj, before)
		if err != nil {
			return err
		}
		if i == 0 {
			s.stored = stored
		}
	}
	return s.deleteAll(ctx, former)
}

// write writes a Secret that was another one before, or nil, and returns the stored one.
func (s *undoStore) write(
	ctx context.Context, obj, before *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	obj.Object["type"] = undoType
	w := cluster.Write{Object: obj, Method: cluster.Create, Manager: HistoryManager}
	if before != nil {
		w.Method = cluster.Replace
		obj.SetResourceVersion(before.GetResourceVersion())
		obj.SetUID(before.GetUID())
	}
	stored, err := s.cluster.Write(ctx, w)
	return stored, s.meanwhile(err)
}

// meanwhile returns the error of a write with that another run has written since, if that is so.
func (s *undoStore) meanwhile(err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return fmt.Errorf("another run has adopted into %s, or undone that, meanwhile: %w", s.title(),
			err)
	}
	return err
}

// checkCurrent returns an error if another run has written what is stored since it was loaded.
func (s *undoStore) checkCurrent(ctx context.Context) error {
	first, err := s.read(ctx, s.first())
	if err != nil {
		return err
	}
	if first == nil || s.stored == nil || first.GetUID() != s.stored.GetUID() ||
		first.GetResourceVersion() != s.stored.GetResourceVersion() {
		return fmt.Errorf("another run has adopted into %s, or undone that, meanwhile; nothing was "+
			"changed: give the command again", s.title())
	}
	return nil
}

// setState stores how far the adoption that was loaded or saved is.
func (s *undoStore) setState(ctx context.Context, state string) error {
	if s.stored == nil {
		return fmt.Errorf("%s has stored no adoption", s.title())
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, undoState, state)
	stored, err := s.cluster.Write(ctx, cluster.Write{
		Object: namedObject(s.first(), "v1"), Method: cluster.Patch,
		PatchType: types.MergePatchType, Patch: []byte(patch), Manager: HistoryManager,
		UID: s.stored.GetUID(), Version: s.stored.GetResourceVersion(),
	})
	if err != nil {
		return s.meanwhile(err)
	}
	s.stored = stored
	return nil
}

// delete deletes what is stored, the first Secret last.
func (s *undoStore) delete(ctx context.Context) error {
	first, err := s.read(ctx, s.first())
	if err != nil || first == nil {
		return err
	}
	refs, _ := s.partsOf(first)
	if err := s.deleteAll(ctx, refs); err != nil {
		return err
	}
	_, err = s.cluster.Delete(ctx, cluster.Delete{Ref: s.first(), UID: first.GetUID()})
	return err
}

// deleteAll deletes those of the named Secrets that have the type, but the first one. Anybody who
// may create Secrets in the namespace can write what names them.
func (s *undoStore) deleteAll(ctx context.Context, refs []object.Ref) error {
	if len(refs) <= 1 {
		return nil // no Secret but the first one is named
	}
	found, err := s.cluster.ListSecretMetadata(ctx, undoType, s.namespace, nil)
	if err != nil {
		return err
	}
	for _, m := range found {
		ref := object.Ref{Kind: "Secret", Namespace: s.namespace, Name: m.Name}
		if ref == s.first() || !slices.Contains(refs, ref) {
			continue
		}
		if _, err := s.cluster.Delete(ctx, cluster.Delete{Ref: ref, UID: m.UID}); err != nil {
			return err
		}
	}
	return nil
}
