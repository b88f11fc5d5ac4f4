package sets

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/adopt"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// undoInfo is what continues an adoption, and what restores the set as its tool had it.
type undoInfo struct {
	Request adopt.Request   `json:"request"`
	From    adopt.Set       `json:"from"`
	Objects []adoptedObject `json:"objects"` // those that the adoption has changed, or may have
	// Retired means that the adoption is complete: the tool does not find its record any more.
	Retired bool `json:"retired,omitempty"`
	// Finishing means that the adoption is final: what an undo needs is being deleted.
	Finishing bool `json:"finishing,omitempty"`
}

// adoptedObject is what restores one object. The values of labels and annotations are those before
// the adoption, nil for none.
type adoptedObject struct {
	Ref         object.Ref                  `json:"ref"`
	Version     string                      `json:"version"` // of its API
	UID         types.UID                   `json:"uid"`
	Labels      map[string]*string          `json:"labels,omitempty"`
	Annotations map[string]*string          `json:"annotations,omitempty"`
	Manager     string                      `json:"manager"` // to which the fields of Managers moved
	Managers    []metav1.ManagedFieldsEntry `json:"managers,omitempty"`
}

// undoStore keeps what an undo needs in Secrets beside the record of the adopting set: annotations
// may have the data of Secrets.
type undoStore struct {
	cluster         Cluster
	kind            string // of the adopting set
	namespace, name string
}

// The type, the labels, the annotation and the key of these Secrets.
const (
	undoType  = "muster.dev/adoption"
	undoLabel = "muster.dev/adopts" // a digest of the request, so that another adoption finds it
	undoParts = "muster.dev/parts"  // annotation of the first Secret: the number of all
	undoKey   = "undo"
)

// maxUndoPart limits the data of one Secret in bytes.
const maxUndoPart = 700 << 10

func newUndoStore(c Cluster, app bool, namespace, name string) *undoStore {
	kind := KindPackage
	if app {
		kind = KindApp
	}
	return &undoStore{c, kind, namespace, name}
}

// title returns what messages call the adopting set.
func (s *undoStore) title() string { return fmt.Sprintf("%s %q", s.kind, s.name) }

// undoPrefix begins the names of the Secrets.
const undoPrefix = "muster-adoption."

// ref returns the Secret with a number, from 1.
func (s *undoStore) ref(number int) object.Ref {
	name := undoPrefix + s.kind + "." + s.name
	if number > 1 {
		name += "." + strconv.Itoa(number)
	}
	return object.Ref{Kind: "Secret", Namespace: s.namespace, Name: name}
}

// read returns the Secret with a number, nil if there is none.
func (s *undoStore) read(ctx context.Context, number int) (*unstructured.Unstructured, error) {
	ref := s.ref(number)
	found, err := s.cluster.Read(ctx, []cluster.Target{{Ref: ref, Version: "v1"}})
	if err != nil {
		return nil, err
	}
	return found.Objects[ref], nil
}

// load returns what is stored, nil if nothing is.
func (s *undoStore) load(ctx context.Context) (*undoInfo, error) {
	var packed []byte
	for number, parts := 1, 1; number <= parts; number++ {
		obj, err := s.read(ctx, number)
		if err != nil {
			return nil, err
		}
		if obj == nil && number == 1 {
			return nil, nil
		}
		if obj == nil {
			return nil, fmt.Errorf("%s is missing", s.ref(number))
		}
		if number == 1 {
			parts, _ = strconv.Atoi(obj.GetAnnotations()[undoParts])
		}
		text, _, _ := unstructured.NestedString(obj.Object, "data", undoKey)
		part, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", s.ref(number), err)
		}
		packed = append(packed, part...)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	var text []byte
	if err == nil {
		text, err = io.ReadAll(unpacked)
	}
	undo := &undoInfo{}
	if err == nil {
		err = json.Unmarshal(text, undo)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.ref(1), err)
	}
	return undo, nil
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
		found, err := s.cluster.ListMetadata(ctx, s.ref(1).GroupKind(), namespace,
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

// save stores what an undo needs. The first Secret is written last, so that it never names parts
// that do not exist.
func (s *undoStore) save(ctx context.Context, undo *undoInfo) error {
	text, err := json.Marshal(undo)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(text); err != nil {
		return err
	}
	if err := writer.Close(); err != nil {
		return err
	}
	var parts [][]byte
	for packed.Len() > 0 {
		parts = append(parts, bytes.Clone(packed.Next(maxUndoPart)))
	}
	for i := len(parts) - 1; i >= 0; i-- {
		if err := s.write(ctx, i+1, undo.Request, parts); err != nil {
			return err
		}
	}
	return nil
}

// write writes the Secret with a number.
func (s *undoStore) write(
	ctx context.Context, number int, r adopt.Request, parts [][]byte,
) error {
	obj, data := namedObject(s.ref(number), "v1"), parts[number-1]
	obj.SetAnnotations(map[string]string{undoParts: strconv.Itoa(len(parts))})
	if number == 1 {
		obj.SetLabels(map[string]string{undoLabel: digest(r)})
	}
	obj.Object["type"] = undoType
	obj.Object["data"] = map[string]any{undoKey: base64.StdEncoding.EncodeToString(data)}
	live, err := s.read(ctx, number)
	if err != nil {
		return err
	}
	w := cluster.Write{Object: obj, Method: cluster.Create, Manager: HistoryManager}
	if live != nil {
		w.Method = cluster.Replace
		obj.SetResourceVersion(live.GetResourceVersion())
		obj.SetUID(live.GetUID())
	}
	_, err = s.cluster.Write(ctx, w)
	return err
}

// delete deletes what is stored, the first Secret last.
func (s *undoStore) delete(ctx context.Context) error {
	first, err := s.read(ctx, 1)
	if err != nil || first == nil {
		return err
	}
	parts, _ := strconv.Atoi(first.GetAnnotations()[undoParts])
	for number := max(parts, 1); number >= 1; number-- {
		if _, err := s.cluster.Delete(ctx, cluster.Delete{Ref: s.ref(number)}); err != nil {
			return err
		}
	}
	return nil
}
