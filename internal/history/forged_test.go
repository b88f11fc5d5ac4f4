package history

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// proving keeps the deletions that it is asked for.
type proving struct {
	*server
	deleted []cluster.Delete
}

func (p *proving) Delete(ctx context.Context, d cluster.Delete) (bool, error) {
	p.mu.Lock()
	p.deleted = append(p.deleted, d)
	p.mu.Unlock()
	return p.server.Delete(ctx, d)
}

// aSecret returns a Secret of a type with the labels of a revision; an empty set has none.
func aSecret(namespace, name, kind, set string, number int) *unstructured.Unstructured {
	obj := secret(namespace, name, "").Unstructured
	obj.Object = map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": obj.Object["metadata"],
		"data": map[string]any{"key": "dmFsdWU="},
	}
	if set != "" {
		obj.SetLabels(map[string]string{labelSet: set, labelRevision: strconv.Itoa(number),
			labelPart: "1"})
	}
	return obj
}

// forge stores a head that anybody may write who may create Secrets in the namespace of a record.
func forge(t *testing.T, c *server, kind, set, record string, number int, parts ...Part) {
	t.Helper()
	name := fmt.Sprintf("forged-%d", number)
	head := aSecret("shop", name, kind, set, number)
	text, err := json.Marshal(Meta{Number: number, Record: record, Outcome: Failed,
		Parts: append([]Part{{Name: name}}, parts...)})
	if err != nil {
		t.Fatal(err)
	}
	head.SetAnnotations(map[string]string{annotationMeta: string(text)})
	c.Put(head)
}

// A head may name any Secret: only what has the labels, the type and the name of a part of that
// revision is deleted, in whatever namespace, and no deletion takes an object of another UID.
func TestForgedParts(t *testing.T) {
	const other = "other-12345678" // a set with a record in another namespace
	theirs := Set{Namespace: "theirs", Name: "web", ID: other}.partName(1, 1, true)
	own := newStore(&server{}).Set.partName(9, 1, true)
	foreign := []*unstructured.Unstructured{
		aSecret("victim", "important", "Opaque", "", 0),
		aSecret("victim", "labelled", "Opaque", "web-12345678", 1),
		aSecret("victim", "of-the-type", secretType, "", 0),
		aSecret("victim", "other-name", secretType, "web-12345678", 1),
		aSecret("victim", theirs, secretType, other, 1),
		aSecret("shop", "important", "Opaque", "", 0),
		aSecret("shop", "labelled", "Opaque", "web-12345678", 1),
		aSecret("shop", "of-the-type", secretType, "", 0),
	}
	var parts []Part
	for _, obj := range foreign {
		namespace := strings.TrimPrefix(obj.GetNamespace(), "shop")
		parts = append(parts, Part{Namespace: namespace, Name: obj.GetName()})
	}
	for name, run := range map[string]func(*Store) error{
		"prune": func(s *Store) error {
			s.Limit = 1
			_, err := s.Write(t.Context(), Revision{Meta: Meta{Outcome: Succeeded}})
			return err
		},
		"delete": func(s *Store) error { return s.DeleteAll(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			c := &proving{server: &server{}}
			s := newStore(c.server)
			s.Cluster = c
			for _, obj := range foreign {
				c.Put(obj)
			}
			c.Put(aSecret("db", own, secretType, "web-12345678", 9))
			forge(t, c.server, secretType, "web-12345678", s.Set.Record, 1, parts...)
			forge(t, c.server, secretType, other, s.Set.Record, 5, parts...)
			forge(t, c.server, secretType, "web-12345678", s.Set.Record, 9,
				Part{Namespace: "db", Name: own})
			if err := run(s); err != nil {
				t.Fatal(err)
			}
			for _, obj := range foreign {
				if c.Object(object.RefOf(obj)) == nil {
					t.Errorf("secret %s/%s was deleted", obj.GetNamespace(), obj.GetName())
				}
			}
			if slices.Contains(c.names(), "db/"+own) || slices.Contains(c.names(), "shop/forged-1") {
				t.Errorf("left: %v", c.names())
			}
			for _, d := range c.deleted {
				if d.UID == "" {
					t.Errorf("%s was deleted without its UID", d.Ref)
				}
			}
		})
	}
}

// A Secret of another type is no revision, and two heads of one number are not believed.
func TestForgedHeads(t *testing.T) {
	c := &server{}
	s := newStore(c)
	write(t, s, Meta{Outcome: Succeeded}, configMap("a", "1"))
	forge(t, c, "Opaque", "web-12345678", s.Set.Record, 7)
	forge(t, c, secretType, "web-12345678", s.Set.Record, 3, Part{Namespace: "a/b?c", Name: "x"})
	heads, err := s.List(t.Context())
	if err != nil || len(heads) != 2 || heads[0].Number != 3 || heads[0].Err == nil {
		t.Errorf("heads: %+v, %v", heads, err)
	}
	if err := s.DeleteAll(t.Context()); err != nil {
		t.Error(err)
	}
	c.Put(aSecret("shop", "x", "Opaque", "", 0))

	write(t, s, Meta{Outcome: Succeeded}, configMap("a", "1"))
	forge(t, c, secretType, "web-12345678", s.Set.Record, 1)
	heads, err = s.List(t.Context())
	if err != nil || len(heads) != 2 || heads[0].Err == nil || heads[1].Err == nil {
		t.Errorf("two heads of one number: %+v, %v", heads, err)
	}
	if _, err := s.Read(t.Context(), 1); err == nil ||
		!strings.Contains(err.Error(), "secret/forged-1") {
		t.Errorf("read one of two: %v", err)
	}
}

// forgedSecrets stores revision 1 with a Secret db/b whose data is in its namespace, and changes
// the index of the head and the data.
func forgedSecrets(t *testing.T, index func(*entry), data func(*secretData), kind string) *Object {
	t.Helper()
	c := &server{}
	s := newStore(c)
	written := write(t, s, Meta{Outcome: Succeeded}, secret("db", "b", "hunter"))
	head, part := c.Object(written.Parts[0].ref(s.Set)), c.Object(written.Parts[1].ref(s.Set))
	var entries []entry
	text, err := boundedio.NewUnpacker(maxRevision).Gunzip(dataOf(head)[keyIndex])
	if err == nil {
		err = json.Unmarshal(text, &entries)
	}
	if err != nil {
		t.Fatal(err)
	}
	index(&entries[0])
	text, err = boundedio.NewUnpacker(maxRevision).Gunzip(dataOf(part)[keySecrets])
	var fields secretData
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		t.Fatal(err)
	}
	data(&fields)
	changed, _ := line(entries)
	packed := dataOf(head)
	packed[keyIndex] = boundedio.Gzip(changed)
	head.Object["data"] = encoded(packed)
	changed, _ = line(fields)
	there := map[string][]byte{keySecrets: boundedio.Gzip(changed)}
	part.Object["data"], part.Object["type"] = encoded(there), kind
	written.Parts[0].SHA256, written.Parts[1].SHA256 = sumOf(packed), sumOf(there)
	meta, _ := json.Marshal(written)
	head.SetAnnotations(map[string]string{annotationMeta: string(meta)})
	c.Put(head)
	c.Put(part)
	r, err := s.Read(t.Context(), 1)
	if err != nil {
		return nil
	}
	return &r.Objects[0]
}

// The data of a Secret comes from its own namespace, from parts of the type of revisions alone, and
// is nothing but data.
func TestForgedData(t *testing.T) {
	noIndex, noData := func(*entry) {}, func(*secretData) {}
	if o := forgedSecrets(t, noIndex, noData, secretType); o == nil || o.Withheld != nil {
		t.Fatalf("the Secret is not readable: %+v", o)
	}
	if o := forgedSecrets(t, noIndex, noData, "Opaque"); o == nil || o.Withheld == nil ||
		o.Object["stringData"] != nil {
		t.Errorf("data of a Secret that is no part: %+v", o)
	}
	moved := func(s *secretData) {
		s.Fields["metadata"] = map[string]any{"name": "b", "namespace": "public"}
	}
	if o := forgedSecrets(t, noIndex, moved, secretType); o != nil && o.GetNamespace() != "db" {
		t.Errorf("the data has moved the Secret to namespace %s", o.GetNamespace())
	}
	for name, forge := range map[string]func(*entry){
		"namespace": func(e *entry) { e.Namespace = "elsewhere" },
		"name":      func(e *entry) { e.Name = "c" },
		"kind":      func(e *entry) { e.Kind = "ConfigMap" },
	} {
		if o := forgedSecrets(t, forge, noData, secretType); o != nil {
			t.Errorf("an index with another %s is believed: %+v", name, o)
		}
	}
}

// TestUnpackedSize: a part that unpacks to more than a revision may have is refused, and so is such
// a revision when it is written.
func TestUnpackedSize(t *testing.T) {
	bomb := boundedio.Gzip(make([]byte, maxRevision+1))
	unpacker := boundedio.NewUnpacker(maxRevision)
	_, err := (&Revision{}).decode(map[string][]byte{keyIndex: bomb}, unpacker)
	if err == nil || !strings.Contains(err.Error(), "it unpacks to more than 64 MiB") {
		t.Errorf("a small Secret that unpacks to much: %v", err)
	}
	w := &writer{}
	if err := w.grow(maxRevision); err != nil {
		t.Errorf("the largest revision: %v", err)
	}
	if err := w.grow(1); err == nil {
		t.Error("a larger revision is written")
	}
}
