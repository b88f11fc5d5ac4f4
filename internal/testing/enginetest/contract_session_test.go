package enginetest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// session is the calls of one archive.
type session struct {
	t         *testing.T
	server    server
	namespace string
	objects   map[string][]*unstructured.Unstructured // by section
	seen      map[object.Ref]*identities
	events    chan cluster.ObjectEvent // of the latest watch or query
	endWatch  context.CancelFunc
}

// identities are the different UIDs and resource versions of an object in the answers, in order.
type identities struct{ uids, versions []string }

// parse returns the objects of a section, with the namespace of the session for NAMESPACE.
func (s *session) parse(text string) (objects []*unstructured.Unstructured) {
	for document := range strings.SplitSeq(text, "---\n") {
		obj := &unstructured.Unstructured{}
		data, err := yaml.YAMLToJSON([]byte(document))
		if err == nil {
			err = obj.UnmarshalJSON(data)
		}
		if err != nil {
			s.t.Fatalf("%v:\n%s", err, document)
		}
		obj.SetName(strings.ReplaceAll(obj.GetName(), "NAMESPACE", s.namespace))
		if obj.GetNamespace() == "NAMESPACE" {
			obj.SetNamespace(s.namespace)
		}
		objects = append(objects, obj)
	}
	return objects
}

// request is one call: a verb, a section or kind, options, and JSON that is merged into the object
// or, of a patch, sent.
type request struct {
	verb, name string
	options    map[string]string
	content    string
}

// parseRequest reads a line such as "replace a version=old dry-run {"data":{}}".
func parseRequest(line string) request {
	head, content := line, ""
	if i := strings.IndexAny(line, "{["); i >= 0 {
		head, content = line[:i], line[i:]
	}
	words := strings.Fields(head)
	r := request{verb: words[0], options: map[string]string{}, content: content}
	for _, word := range words[1:] {
		if key, value, ok := strings.Cut(word, "="); ok || r.name != "" {
			r.options[key] = value
		} else {
			r.name = word
		}
	}
	return r
}

// has reports whether an option without a value is set.
func (r request) has(option string) bool {
	_, ok := r.options[option]
	return ok
}

// call makes the call of a line and returns the answer. Verbs are "create", "replace", "patch" and
// "apply" for the methods, "delete", "get", "gone" and "deleting" (which wait until an object is),
// "list", "metadata", and "watch" and "query", whose events "events" waits for and prints.
//
// Of a section with many objects the answer has no content, and names the kinds that got it.
//
// The options uid and version are preconditions: "live" is what the last answer had, "old" what it
// was before, and everything else stands for itself. "of=live" writes the live object, with what
// the line has merged into it. "owner=NAME" adds a reference to the live object of a section, which
// blocks the deletion of that in the foreground.
func (s *session) call(line string) string {
	r := parseRequest(line)
	switch r.verb {
	case "list", "metadata":
		return s.list(r)
	case "query":
		return s.query(r)
	case "events":
		return s.next(r)
	}
	objects := s.objects[r.name]
	if len(objects) == 0 {
		s.t.Fatalf("%s: there is no section %q", line, r.name)
	}
	if r.verb == "watch" {
		return s.watch(objects)
	}
	if len(objects) == 1 {
		return s.one(r, objects[0].DeepCopy())
	}
	var answers []string
	kinds := map[string][]string{} // by answer
	for _, obj := range objects {
		answer, _, _ := strings.Cut(strings.TrimSpace(s.one(r, obj.DeepCopy())), "\n")
		if _, generation, stored := strings.Cut(answer, ", generation "); stored {
			answer = "ok, generation " + generation
		}
		if kinds[answer] == nil {
			answers = append(answers, answer)
		}
		kinds[answer] = append(kinds[answer], obj.GroupVersionKind().GroupKind().String())
	}
	var out strings.Builder
	for _, answer := range answers {
		out.WriteString("  " + answer + "\n    " + strings.Join(kinds[answer], "\n    ") + "\n")
	}
	return out.String()
}

// one makes a call about one object.
func (s *session) one(r request, obj *unstructured.Unstructured) string {
	ref := object.RefOf(obj)
	uid := types.UID(s.value(ref, r.options["uid"], func(s *identities) []string { return s.uids }))
	version := s.value(ref, r.options["version"], func(s *identities) []string { return s.versions })
	switch r.verb {
	case "get":
		return s.read(ref, obj.GroupVersionKind().Version)
	case "gone":
		return s.await(ref, func(obj *unstructured.Unstructured) bool { return obj == nil })
	case "deleting":
		return s.await(ref, func(obj *unstructured.Unstructured) bool {
			return obj == nil || obj.GetDeletionTimestamp() != nil
		})
	case "delete":
		gone, err := s.server.Delete(s.t.Context(), cluster.Delete{
			Ref: ref, UID: uid, Version: version, DryRun: r.has("dry-run"), Missing: r.has("missing"),
			Propagation: metav1.DeletionPropagation(r.options["propagation"]),
		})
		if err != nil {
			return fmt.Sprintf("%s, gone=%t\n", failure(err), gone)
		}
		return fmt.Sprintf("ok, gone=%t\n", gone)
	}
	w := cluster.Write{
		Method: cluster.Method(r.verb), Subresource: r.options["subresource"],
		Manager: "one", Force: r.has("force"), DryRun: r.has("dry-run"),
		FieldValidation: r.options["fields"],
	}
	if manager := r.options["manager"]; manager != "" {
		w.Manager = manager
	}
	if r.options["of"] == "live" {
		obj = s.live(obj)
	}
	if owner := r.options["owner"]; owner != "" {
		of := s.live(s.objects[owner][0])
		obj.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: of.GetAPIVersion(), Kind: of.GetKind(), Name: of.GetName(), UID: of.GetUID(),
			BlockOwnerDeletion: new(true),
		}})
	}
	switch w.Method {
	case cluster.Patch:
		w.PatchType, w.Patch = patchTypes[r.options["type"]], []byte(r.content)
		w.UID, w.Version = uid, version
	case cluster.Apply:
		w.UID, w.Version = uid, version
		obj = s.merged(obj, r.content)
		obj.SetManagedFields(nil)
	default:
		obj = s.merged(obj, r.content)
		if r.options["of"] != "live" || r.has("uid") {
			obj.SetUID(uid)
		}
		if r.options["of"] != "live" || r.has("version") {
			obj.SetResourceVersion(version)
		}
	}
	w.Object = obj
	stored, err := s.server.Write(s.t.Context(), w)
	if err != nil {
		return failure(err) + "\n"
	}
	return s.format(stored, w.Method != cluster.Create)
}

var patchTypes = map[string]types.PatchType{
	"json": types.JSONPatchType, "merge": types.MergePatchType,
	"strategic": types.StrategicMergePatchType,
}

// merged returns an object with a JSON merge patch, which may be empty.
func (s *session) merged(obj *unstructured.Unstructured, patch string) *unstructured.Unstructured {
	if patch == "" {
		return obj
	}
	before, err := obj.MarshalJSON()
	if err != nil {
		s.t.Fatal(err)
	}
	after, err := jsonpatch.MergePatch(before, []byte(patch))
	next := &unstructured.Unstructured{}
	if err == nil {
		err = next.UnmarshalJSON(after)
	}
	if err != nil {
		s.t.Fatalf("%v: %s", err, patch)
	}
	return next
}

// value returns a precondition.
func (s *session) value(ref object.Ref, option string, of func(*identities) []string) string {
	if option != "live" && option != "old" {
		return option
	}
	var values []string
	if seen := s.seen[ref]; seen != nil {
		values = of(seen)
	}
	i := len(values) - 1
	if option == "old" {
		i--
	}
	if i < 0 {
		s.t.Fatalf("%s has no %s value yet", ref, option)
	}
	return values[i]
}

// read reads an object.
func (s *session) read(ref object.Ref, version string) string {
	snapshot, err := s.server.Read(s.t.Context(), []cluster.Target{
		{Ref: ref, Version: version, ManagedFields: true}})
	switch {
	case err != nil:
		return failure(err) + "\n"
	case snapshot.Unserved.Has(ref):
		return fmt.Sprintf("not served, has definition=%t\n", !snapshot.NoKind.Has(ref))
	case snapshot.Objects[ref] == nil:
		return "none\n"
	}
	return s.format(snapshot.Objects[ref], true)
}

// live returns the live object that has the name of another one.
func (s *session) live(obj *unstructured.Unstructured) *unstructured.Unstructured {
	ref := object.RefOf(obj)
	live, err := s.server.Read(s.t.Context(), []cluster.Target{
		{Ref: ref, Version: obj.GroupVersionKind().Version, ManagedFields: true}})
	if err != nil || live.Objects[ref] == nil {
		s.t.Fatalf("there is no live %s: %v", ref, err)
	}
	return live.Objects[ref]
}

// await waits until a function reports true of an object, or of nil if there is none, and returns
// whether it exists.
func (s *session) await(ref object.Ref, is func(*unstructured.Unstructured) bool) string {
	for {
		snapshot, err := s.server.Read(s.t.Context(), []cluster.Target{{Ref: ref}})
		switch {
		case err != nil:
			return failure(err) + "\n"
		case !is(snapshot.Objects[ref]):
		case snapshot.Objects[ref] == nil:
			return "none\n"
		default:
			return "exists\n"
		}
		s.pause()
	}
}

// pause waits a moment.
func (s *session) pause() { time.Sleep(100 * time.Millisecond) }
