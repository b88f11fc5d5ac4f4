package drift

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/builtin"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
)

// serverFields are the fields of metadata that identify an object, or that only the server writes.
var serverFields = append(object.ServerMetadata(), "generateName", "name", "namespace")

// comparison compares one object.
type comparison struct {
	Options
	secret   bool
	want     map[string]any // as the set desires it
	stored   map[string]any // the same as the server would store it, with its defaults
	live     map[string]any
	typed    bool // the kind is built in
	owned    *owned
	managers []Manager
	fields   []Field
	room     int // bytes that the places of parts of values may take
}

func newComparison(want, live *unstructured.Unstructured, o Options) (*comparison, error) {
	root, managers, err := readOwned(live)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.RefOf(live), err)
	}
	c := &comparison{
		Options: o, secret: object.IsSecret(want) || object.IsSecret(live), owned: root,
		managers: managers, room: maxPlaces,
		want: want.Object, stored: want.Object, live: live.Object,
	}
	if c.secret {
		c.want = withData(c.want)
		c.stored = c.want
	}
	stored, wantOK := builtin.Stored(c.want)
	normal, liveOK := builtin.Stored(live.Object)
	if wantOK && liveOK && want.GetAPIVersion() == live.GetAPIVersion() {
		c.stored, c.live, c.typed = stored, normal, true
	}
	classes := o.Managers
	if classes == nil {
		classes = builtinClasses()
	}
	for i := range c.managers {
		c.managers[i].Class = c.classOf(classes, i)
	}
	return c, nil
}

// withData returns the fields of a Secret with its stringData in data, where the server stores it.
func withData(fields map[string]any) map[string]any {
	return diff.WithEncodedData(&unstructured.Unstructured{Object: fields}).Object
}

// classOf returns the class of an entry of managedFields. The manager that set the mark of the set
// deployed the object.
func (c *comparison) classOf(classes *Classes, entry int) Class {
	m := c.managers[entry]
	if m.Subresource == "status" {
		return Controller
	}
	metadata := c.owned.field("metadata")
	for _, place := range []*owned{
		metadata.field("annotations").field(c.Mark), metadata.field("labels").field(c.Mark),
	} {
		if place == nil || m.Subresource != "" {
			continue
		}
		for _, owner := range place.owners {
			if c.managers[owner].Name == m.Name {
				return Own
			}
		}
	}
	if m.Subresource == "" && slices.Contains(c.Own, m.Name) {
		return Own
	}
	return classes.Of(m.Name)
}

// object compares the fields of the object, except those that only the server writes.
func (c *comparison) object() {
	p := place{owned: c.owned}
	for _, key := range sortedKeys(c.want, c.live) {
		switch key {
		case "apiVersion", "kind", "status":
			continue
		case "metadata":
			c.metadata(p.field(key))
		default:
			c.field(p.field(key), c.want[key], c.stored[key], c.live[key])
		}
	}
}

func (c *comparison) metadata(p place) {
	want, _ := c.want["metadata"].(map[string]any)
	live, _ := c.live["metadata"].(map[string]any)
	for _, key := range sortedKeys(want, live) {
		if slices.Contains(serverFields, key) {
			continue
		}
		w, l := want[key], live[key]
		if key == "annotations" {
			w, l = c.annotations(w), c.annotations(l)
		}
		c.field(p.field(key), w, w, l)
	}
}

// annotations returns the annotations that are compared: not those that the server and its
// controllers write again whenever others set them.
func (c *comparison) annotations(value any) any {
	all, ok := value.(map[string]any)
	if !ok {
		return value
	}
	all = maps.Clone(all)
	kind := (&unstructured.Unstructured{Object: c.want}).GroupVersionKind().GroupKind()
	for _, key := range append(object.ServerAnnotations(kind), c.IgnoreAnnotations...) {
		delete(all, key)
	}
	return all
}

// isEmpty reports whether a value is null, or a map or list without content.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, inner := range v {
			if !isEmpty(inner) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return false
}

// field compares one live value with the desired one, and with how the server would store that.
func (c *comparison) field(p place, want, stored, live any) {
	omitted := stored == nil && c.typed // the server does not store the zero value of the type
	if stored == nil && want != nil {
		stored = want
	}
	switch {
	case p.isNone(want) && p.isNone(live):
	case want == nil:
		p.top = len(p.route)
		c.addition(p, stored, live)
	case live == nil:
		if !omitted {
			c.add(p, Removed, want, nil)
		}
	default:
		c.values(p, want, stored, live)
	}
}

func (c *comparison) values(p place, want, stored, live any) {
	if jsonvalue.Equal(stored, live) {
		return
	}
	switch w := want.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		d, _ := stored.(map[string]any)
		if keys := sortedKeys(w, l); ok && c.hasRoom(p, len(keys)) {
			for _, key := range keys {
				c.field(p.field(key), w[key], d[key], l[key])
			}
			return
		}
	case []any:
		l, ok := live.([]any)
		d, same := stored.([]any)
		if ok && same && len(d) == len(w) && c.hasRoom(p, len(w)+len(l)) {
			c.lists(p, w, d, l)
			return
		}
	}
	c.add(p, Changed, want, live)
}

// addition compares a value that the set does not desire with the default of the server.
func (c *comparison) addition(p place, stored, live any) {
	if p.isNone(live) || jsonvalue.Equal(stored, live) {
		return
	}
	l, isMap := live.(map[string]any)
	if isMap && len(l) > 0 && (p.owned == nil || len(p.owned.fields) > 0) && c.hasRoom(p, len(l)) {
		d, _ := stored.(map[string]any)
		for _, key := range sortedKeys(l) {
			c.addition(p.field(key), d[key], l[key])
		}
		return
	}
	list, isList := live.([]any)
	t := p.owned.listType()
	if isList && (len(t.keys) > 0 || t.values) && c.hasRoom(p, len(list)) {
		d, _ := stored.([]any)
		found := newMatcher(d, t)
		for i, item := range list {
			in := p.item(item, t)
			in.route[len(in.route)-1].live = i + 1
			if at := found.match(item); at >= 0 {
				c.addition(in, d[at], item)
			} else {
				c.add(in, Added, nil, item)
			}
		}
		return
	}
	c.add(p, Added, stored, live)
}

func sortedKeys(all ...map[string]any) []string {
	keys := map[string]bool{}
	for _, m := range all {
		for key := range m {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
