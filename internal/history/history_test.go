package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// server counts requests and the bytes that they send or receive.
type server struct {
	enginetest.Cluster
	mu       sync.Mutex
	requests []string
	bytes    int
}

func (s *server) count(request string, content any) {
	text, _ := line(content)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.bytes = append(s.requests, request), s.bytes+len(text)
}

func (s *server) ListSecretMetadata(
	ctx context.Context, secretType, namespace string, with map[string]string,
) ([]metav1.ObjectMeta, error) {
	found, err := s.Cluster.ListSecretMetadata(ctx, secretType, namespace, with)
	s.count("list metadata", found)
	return found, err
}

func (s *server) Write(ctx context.Context, w cluster.Write) (*unstructured.Unstructured, error) {
	s.count("create "+w.Object.GetNamespace()+"/"+w.Object.GetName(), w.Object.Object)
	return s.Cluster.Write(ctx, w)
}

func (s *server) Delete(ctx context.Context, d cluster.Delete) (bool, error) {
	s.mu.Lock()
	s.requests = append(s.requests, "delete "+d.Ref.Namespace+"/"+d.Ref.Name)
	s.mu.Unlock()
	return s.Cluster.Delete(ctx, d)
}

// names returns the Secrets in the cluster, as NAMESPACE/NAME.
func (s *server) names() []string {
	names := []string{}
	for _, ref := range s.Refs().Refs() {
		names = append(names, ref.Namespace+"/"+ref.Name)
	}
	slices.Sort(names)
	return names
}

func newStore(s *server) *Store {
	return &Store{
		Cluster: s, Set: Set{
			Namespace: "shop", Name: "web", Record: "resourcegroup.kpt.dev/web", ID: "web-12345678",
		}, Manager: "muster",
		Limit: DefaultLimit,
	}
}

func configMap(name, value string) Object {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"key": value},
		"metadata": map[string]any{"name": name, "namespace": "shop", "uid": "1"},
		"status":   map[string]any{"seen": true},
	}}
	return Object{Unstructured: obj, Source: name + ".yaml"}
}

func secret(namespace, name, value string) Object {
	return Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{"password": value},
		"metadata": map[string]any{"name": name, "namespace": namespace},
	}}}
}

// random returns a text that cannot be compressed well.
func random(size int) string {
	source, text := rand.New(rand.NewPCG(1, 2)), make([]byte, size)
	for i := range text {
		text[i] = byte('!' + source.IntN(90))
	}
	return string(text)
}

func write(t *testing.T, s *Store, m Meta, objects ...Object) Meta {
	t.Helper()
	written, err := s.Write(t.Context(), Revision{Meta: m, Objects: objects})
	if err != nil {
		t.Fatal(err)
	}
	return written
}

func numbers(t *testing.T, s *Store) []int {
	t.Helper()
	heads, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := []int{}
	for _, h := range heads {
		if h.Err != nil {
			t.Errorf("revision %d: %v", h.Number, h.Err)
		}
		all = append(all, h.Number)
	}
	return all
}

func check(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// A null creationTimestamp of a manifest, as generators write it, is no field of the server: what
// is restored has to equal the manifest.
func TestNullCreationTimestamp(t *testing.T) {
	s, obj := newStore(&server{}), configMap("flags", "on")
	metadata := map[string]any{"name": "flags", "namespace": "shop", "creationTimestamp": nil}
	obj.Object["metadata"] = metadata
	write(t, s, Meta{}, obj)
	r, err := s.Read(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "metadata", r.Objects[0].Object["metadata"], metadata)
}

// What is written is read again: the description, and the objects in order without what servers
// set.
func TestWriteRead(t *testing.T) {
	c := &server{}
	s := newStore(c)
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	large := configMap("large", "x")
	large.Object["data"] = map[string]any{"number": int64(9007199254740993)}
	deleted := metav1.NewTime(now)
	large.SetDeletionTimestamp(&deleted)
	large.SetDeletionGracePeriodSeconds(new(int64))
	want := Meta{Time: now, Outcome: Succeeded, Message: "first <try>", Git: &Git{Commit: "9f31c2a"},
		Changes: []Change{{"created", "ConfigMap", 2}}}
	written := write(t, s, want, large, configMap("flags", "on"))
	check(t, "number", written.Number, 1)
	check(t, "names", c.names(), []string{"shop/web-rev-1"})
	heads, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check(t, "description", heads[0].Meta, written)
	r, err := s.Read(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "description that is read", r.Meta, written)
	if len(r.Objects) != 2 || r.Objects[0].GetName() != "flags" ||
		r.Objects[0].Source != "flags.yaml" || r.Objects[0].GetUID() != "" {
		t.Errorf("objects: %v", r.Objects)
	}
	check(t, "status of the manifest", r.Objects[0].Object["status"], map[string]any{"seen": true})
	if metadata := r.Objects[1].Object["metadata"].(map[string]any); len(metadata) != 2 {
		t.Errorf("metadata of the server is kept: %v", metadata)
	}
	check(t, "large number", r.Objects[1].Object["data"], large.Object["data"])
	if large.GetUID() == "" {
		t.Error("writing has changed the object")
	}

	same := write(t, s, want, configMap("flags", "on"), large)
	check(t, "content of the same objects", same.Content, written.Content)
	check(t, "parent", same.Parent, 1)
	other := write(t, s, Meta{Parent: 1}, configMap("flags", "off"), large)
	if other.Content == written.Content || other.Parent != 1 {
		t.Errorf("another revision: %+v", other)
	}
	missing := (*NotFoundError)(nil)
	if _, err := s.Read(t.Context(), 9); !errors.As(err, &missing) {
		t.Errorf("read a revision that does not exist: %v", err)
	}
}

// A write of 5,000 objects to a full history sends three requests of a bounded size.
func TestRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it is concurrent")
	}
	c := &server{}
	s := newStore(c)
	var objects []Object
	for i := range 5000 {
		obj := configMap(fmt.Sprintf("object-%d", i), "value of "+fmt.Sprint(i))
		obj.SetLabels(map[string]string{"app": fmt.Sprintf("app-%d", i%50)})
		objects = append(objects, obj)
	}
	for range DefaultLimit {
		write(t, s, Meta{Outcome: Succeeded, Message: strings.Repeat("m", 200)}, objects...)
	}
	c.requests, c.bytes = nil, 0
	began := time.Now()
	write(t, s, Meta{Outcome: Succeeded}, objects...)
	t.Logf("%d bytes in %s", c.bytes, time.Since(began))
	check(t, "requests", c.requests,
		[]string{"list metadata", "create shop/web-rev-11", "delete shop/web-rev-1"})
	if c.bytes > 400_000 {
		t.Errorf("the requests have %d bytes", c.bytes)
	}

	c.requests = nil
	heads, err := s.ListToWrite(t.Context())
	if err != nil || heads[0].Number != 11 {
		t.Fatalf("heads: %v, %v", heads, err)
	}
	write(t, s, Meta{Outcome: Succeeded}, objects...)
	check(t, "requests after a list", c.requests,
		[]string{"list metadata", "create shop/web-rev-12", "delete shop/web-rev-2"})
}

// A revision that is too large for a Secret has parts, and a part that is missing or altered is
// named.
func TestParts(t *testing.T) {
	c := &server{}
	s := newStore(c)
	written := write(t, s, Meta{}, configMap("a", random(1_500_000)), configMap("b", random(800_000)))
	check(t, "names", c.names(), []string{"shop/web-rev-1", "shop/web-rev-1-2", "shop/web-rev-1-3"})
	check(t, "last write", c.requests[len(c.requests)-1], "create shop/web-rev-1")
	for _, sent := range c.Sent {
		if size := len(fmt.Sprint(sent.Object.Object["data"])); size > 1_300_000 {
			t.Errorf("%s has %d bytes", sent.Object.GetName(), size)
		}
	}
	r, err := s.Read(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "objects", r.Objects[0].Object["data"], map[string]any{"key": random(1_500_000)})

	broken := (*PartError)(nil)
	ref := written.Parts[1].ref(s.Set)
	part := c.Object(ref)
	altered := part.DeepCopy()
	altered.Object["data"] = map[string]any{keyObjects: "AAAA"}
	c.Put(altered)
	const text = `revision 1 cannot be read: of its part shop/secret/web-rev-1-2, `
	if _, err := s.Read(t.Context(), 1); !errors.As(err, &broken) ||
		err.Error() != text+"the content was altered" {
		t.Errorf("altered part: %v", err)
	}
	c.Remove(ref)
	if _, err := s.Read(t.Context(), 1); !errors.As(err, &broken) ||
		err.Error() != text+"which is missing" {
		t.Errorf("missing part: %v", err)
	}
	heads, err := s.List(t.Context())
	if err != nil || !errors.As(heads[0].Err, &broken) {
		t.Errorf("list: %v, %v", heads, err)
	}
	head := c.Object(written.Parts[0].ref(s.Set))
	head.SetAnnotations(map[string]string{annotationMeta: `{"number":2}`})
	c.Put(head)
	if _, err := s.Read(t.Context(), 1); err == nil ||
		!strings.Contains(err.Error(), "secret/web-rev-1 is not the head of revision 1") {
		t.Errorf("altered head: %v", err)
	}
	check(t, "next number", write(t, s, Meta{}, configMap("a", "1")).Number, 2)
}

// The oldest revisions are deleted, but neither the last good one nor those that are pinned.
func TestPrune(t *testing.T) {
	c := &server{}
	changes := []Change{{Op: "configured", Kind: "ConfigMap", Count: 1}}
	s := newStore(c)
	s.Limit = 3
	outcomes := []Outcome{Succeeded, Succeeded, Succeeded, Failed, Failed, Interrupted, Failed}
	for i, outcome := range outcomes {
		m := write(t, s, Meta{Outcome: outcome, Changes: changes}, configMap("a", fmt.Sprint(i)))
		if i == 1 {
			head := c.Object(m.Parts[0].ref(s.Set))
			annotations := head.GetAnnotations()
			annotations[annotationPinned] = ""
			head.SetAnnotations(annotations)
			c.Put(head)
		}
	}
	check(t, "revisions", numbers(t, s), []int{7, 3, 2})
	check(t, "names", c.names(), []string{"shop/web-rev-2", "shop/web-rev-3", "shop/web-rev-7"})
	for i := range 40 {
		write(t, s, Meta{Outcome: Succeeded, Changes: changes}, configMap("a", fmt.Sprint(i)))
	}
	check(t, "revisions", numbers(t, s), []int{47, 46, 2})
	s.Limit = 1
	write(t, s, Meta{Outcome: Failed, Changes: changes}, configMap("a", "1"))
	check(t, "the newest and the last good one", numbers(t, s), []int{48, 47, 2})
	write(t, s, Meta{Outcome: Succeeded, Changes: changes}, configMap("a", "1"))
	check(t, "revisions", numbers(t, s), []int{49, 2})
}

// A revision that a run restores stays, beyond the limit, as long as runs restore it.
func TestPruneKeep(t *testing.T) {
	s := newStore(&server{})
	s.Limit = 1
	changes := []Change{{Op: "configured", Kind: "ConfigMap", Count: 1}}
	add := func(n int) {
		write(t, s, Meta{Outcome: Succeeded, Changes: changes}, configMap("a", fmt.Sprint(n)))
	}
	add(1)
	s.Keep = 1
	for n := range 3 {
		add(n)
	}
	check(t, "revisions", numbers(t, s), []int{4, 1})
	s.Keep = 0
	add(5)
	check(t, "revisions", numbers(t, s), []int{5})
}

// Revisions of runs that changed nothing, one after the other, go before those that changed
// something.
func TestPruneIdle(t *testing.T) {
	s := newStore(&server{})
	s.Limit = 3
	changed := []Change{{Op: "configured", Kind: "ConfigMap", Count: 1}}
	for i, changes := range [][]Change{changed, changed, nil, nil, nil} {
		write(t, s, Meta{Outcome: Succeeded, Changes: changes}, configMap("a", fmt.Sprint(i)))
	}
	check(t, "revisions", numbers(t, s), []int{5, 2, 1})
}

// The data of a Secret is stored in its own namespace, or a digest, or nothing.
func TestSecrets(t *testing.T) {
	const here, there, refused = "hunter-here", "hunter-there", "hunter-refused"
	read := func(s *Store, number int) (withheld []string, data []any) {
		r, err := s.Read(t.Context(), number)
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range r.Objects {
			text := ""
			if obj.Withheld != nil {
				text = obj.Withheld.Error()
			}
			withheld, data = append(withheld, text), append(data, obj.Object["stringData"])
		}
		return withheld, data
	}
	password := func(value string) any { return map[string]any{"password": value} }
	objects := []Object{secret("shop", "a", here), secret("db", "b", there),
		secret("locked", "c", refused)}
	c := &server{}
	s := newStore(c)
	part := object.Ref{Kind: "Secret", Namespace: "locked",
		Name: s.Set.partName(1, 1, true)}
	c.Fails = map[object.Ref]error{part: apierrors.NewForbidden(
		schema.GroupResource{Resource: "secrets"}, part.Name, errors.New("no"))}
	written := write(t, s, Meta{}, objects...)
	other := "db/" + s.Set.partName(1, 1, true)
	check(t, "names", c.names(), []string{other, "shop/web-rev-1"})
	for _, sent := range c.Sent {
		plain := decoded(t, sent.Object)
		in := sent.Object.GetNamespace()
		for namespace, value := range map[string]string{"shop": here, "db": there, "locked": refused} {
			if strings.Contains(plain, value) != (in == namespace) {
				t.Errorf("%s in namespace %s: %s", value, in, plain)
			}
		}
	}
	const digested = "only a digest of its data was stored"
	withheld, data := read(s, 1) // by kind, namespace and name: db, locked, shop
	check(t, "withheld", withheld, []string{"", digested, ""})
	check(t, "data", data, []any{password(there), nil, password(here)})
	changed := write(t, s, Meta{}, secret("shop", "a", here), secret("db", "b", "other"),
		secret("locked", "c", refused))
	if changed.Content == written.Content {
		t.Error("the digest of the content ignores data in other namespaces")
	}
	c.Remove(object.Ref{Kind: "Secret", Namespace: "db", Name: s.Set.partName(2, 1, true)})
	withheld, _ = read(s, 2)
	if !strings.Contains(withheld[0], "which is missing") {
		t.Errorf("data that is missing: %q", withheld)
	}

	s.Secrets = OnlyDigest
	written = write(t, s, Meta{}, objects...)
	withheld, _ = read(s, 3)
	check(t, "withheld", withheld, []string{digested, digested, digested})
	s.Secrets = NoData
	written = write(t, s, Meta{}, objects...)
	withheld, _ = read(s, 4)
	const none = "its data was not stored"
	check(t, "withheld", withheld, []string{none, none, none})
	changed = write(t, s, Meta{}, secret("shop", "a", "1"), secret("db", "b", "2"),
		secret("locked", "c", "3"))
	check(t, "digest without data", changed.Content, written.Content)

	if err := s.DeleteAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, "left", c.names(), []string{})
}

// decoded returns what the data of a Secret says.
func decoded(t *testing.T, obj *unstructured.Unstructured) string {
	t.Helper()
	all := ""
	for _, data := range dataOf(obj) {
		plain, err := boundedio.NewUnpacker(maxRevision).Gunzip(data)
		if err != nil {
			t.Fatal(err)
		}
		all += string(plain)
	}
	return all
}

// A write that is cut off at any request leaves the earlier revisions, and the next write removes
// the rest.
func TestInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it is concurrent")
	}
	objects := []Object{configMap("a", random(1_500_000)), secret("db", "b", "hunter")}
	for dies := 1; ; dies++ {
		c := &server{}
		s := newStore(c)
		s.Limit = 1
		write(t, s, Meta{Outcome: Succeeded}, objects...)
		c.Revive()
		c.Dies = dies
		_, err := s.Write(t.Context(), Revision{Objects: objects})
		died := err != nil
		c.Revive()
		got := numbers(t, s)
		if !slices.Equal(got, []int{1}) && !slices.Equal(got, []int{2, 1}) {
			t.Errorf("cut off at change %d: revisions %v", dies, got)
		}
		for _, number := range got {
			if r, err := s.Read(t.Context(), number); err != nil || r.Objects[1].Withheld != nil {
				t.Errorf("cut off at change %d: revision %d: %v", dies, number, err)
			}
		}
		m := write(t, s, Meta{Outcome: Succeeded}, objects...)
		var want []string
		for _, part := range m.Parts {
			ref := part.ref(s.Set)
			want = append(want, ref.Namespace+"/"+ref.Name)
		}
		slices.Sort(want)
		check(t, fmt.Sprintf("left after a write that was cut off at change %d", dies), c.names(), want)
		if !died {
			return
		}
	}
}

// Sets of the same name have histories of their own, also in one namespace.
func TestSameName(t *testing.T) {
	c := &server{}
	one, two := newStore(c), newStore(c)
	two.Set.Record, two.Set.ID = "app/web", "app 1795253170392718630"
	write(t, one, Meta{Message: "one"}, configMap("a", "1"))
	write(t, two, Meta{Message: "two"}, configMap("a", "2"))
	write(t, two, Meta{Message: "three"}, configMap("a", "3"))
	check(t, "names", c.names(), []string{"shop/" + two.Set.partName(1, 1, true),
		"shop/" + two.Set.partName(2, 1, true), "shop/web-rev-1"})
	check(t, "revisions of one", numbers(t, one), []int{1})
	check(t, "revisions of two", numbers(t, two), []int{2, 1})
	if r, err := two.Read(t.Context(), 1); err != nil || r.Message != "two" {
		t.Errorf("revision: %v, %v", r, err)
	}
	if err := one.DeleteAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, "revisions of one", numbers(t, one), []int{})
	check(t, "revisions of two", numbers(t, two), []int{2, 1})
}

// A set without a record finds its revisions, and deletes those of all sets that had its record.
func TestNoRecord(t *testing.T) {
	c := &server{}
	other, one, two := newStore(c), newStore(c), newStore(c)
	one.Set.Record, one.Set.ID = "app/web", "1"
	two.Set.Record, two.Set.ID = "app/web", "2"
	write(t, other, Meta{Time: time.Unix(9, 0)}, configMap("a", "1"))
	write(t, two, Meta{Time: time.Unix(2, 0)}, configMap("a", random(1_500_000)))
	write(t, one, Meta{Time: time.Unix(1, 0)}, configMap("a", "2"), secret("db", "b", "hunter"))
	found := newStore(c)
	found.Set.Record, found.Set.ID = "app/web", ""
	if err := found.Resolve(t.Context()); err != nil || found.Set.ID != "2" {
		t.Errorf("resolved to %q, %v", found.Set.ID, err)
	}
	found.Set.ID = ""
	all := c.names()
	found.Exists = func(context.Context, string) (bool, error) { return true, nil } // renamed
	if err := found.DeleteAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, "names", c.names(), all)
	found.Exists = nil
	if err := found.DeleteAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, "names", c.names(), []string{"shop/web-rev-1"})
	none := newStore(c)
	none.Set.Record, none.Set.ID = "app/none", ""
	if err := none.Resolve(t.Context()); err != nil || none.Set.ID != "" {
		t.Errorf("resolved to %q, %v", none.Set.ID, err)
	}
	if err := none.DeleteAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, "names", c.names(), []string{"shop/web-rev-1"})
}

// Names of sets may be as long as names can be.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("a", 238) + "." + strings.Repeat("b", 13) + "c"
	for _, set := range []Set{
		{Namespace: "shop", Name: long, ID: "1"},
		{Namespace: "shop", Name: long[:252] + "d", ID: "2"},
		{Namespace: "shop", Name: long[:240], ID: "3"},
	} {
		seen := map[string]bool{}
		for _, revision := range []int{1, 12, 123456} {
			for _, part := range []int{1, 2, 10} {
				for _, hashed := range []bool{false, true} {
					name := set.partName(revision, part, hashed)
					if len(name) > maxName || seen[name] || strings.Contains(name, ".-") {
						t.Errorf("name %s", name)
					}
					seen[name] = true
				}
			}
		}
	}
	one, two := Set{Name: long}, Set{Name: long[:252] + "d"}
	if one.partName(1, 1, false) == two.partName(1, 1, false) {
		t.Error("two long names have one name")
	}
}

// Errors of the server reach the caller, and what was written is removed.
func TestRefused(t *testing.T) {
	c := &server{}
	s := newStore(c)
	full := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "web-rev-1",
		errors.New("exceeded quota: secrets"))
	c.Fails = map[object.Ref]error{{Kind: "Secret", Namespace: "shop", Name: "web-rev-1"}: full}
	_, err := s.Write(t.Context(), Revision{
		Objects: []Object{configMap("a", random(1_500_000)), secret("db", "b", "hunter")},
	})
	if !apierrors.IsForbidden(err) ||
		!strings.HasPrefix(err.Error(), `write revision 1 of "web": `) {
		t.Errorf("write against a quota: %v", err)
	}
	check(t, "left", c.names(), []string{})
	c.ListFails = map[schema.GroupKind]error{secretKind.GroupKind(): full}
	if _, err := s.List(t.Context()); !apierrors.IsForbidden(err) {
		t.Errorf("list: %v", err)
	}
}
