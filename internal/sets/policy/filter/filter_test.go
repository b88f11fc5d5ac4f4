package filter

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var now = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

// object is "KIND/NAMESPACE/NAME", made so long ago; zero for one that does not exist yet.
func object(id string, age time.Duration, labels map[string]string) *unstructured.Unstructured {
	parts := strings.Split(id, "/")
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetKind(parts[0])
	obj.SetNamespace(parts[1])
	obj.SetName(parts[2])
	obj.SetLabels(labels)
	if age != 0 {
		obj.SetCreationTimestamp(metav1.NewTime(now.Add(-age)))
	}
	return obj
}

// things are what the tests of resource filters select from, by the letter that stands for each.
var things = map[byte]*unstructured.Unstructured{
	'a': object("ConfigMap/demo/web", 0, map[string]string{"x": "y"}),
	'b': object("ConfigMap/demo/web-extra", time.Hour, map[string]string{"x": "z"}),
	'c': object("Secret/other/my-web", 10*time.Minute, nil),
	'd': object("ClusterRole//web", time.Minute, map[string]string{"x": "y", "z": "1"}),
}

func selected(r *ResourceFilter) string {
	var out []byte
	for _, letter := range []byte("abcd") {
		if r.Matches(things[letter]) {
			out = append(out, letter)
		}
	}
	return string(out)
}

func TestParseResource(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                                   "",
		`null`:                                 "",
		`{"resource":{}}`:                      "abcd",
		`{"resource":{"kinds":["ConfigMap"]}}`: "ab",
		`{"RESOURCE":{"Kinds":["configmap"]}}`: "",
		`{"resource":{"kinds":["Secret","ClusterRole"]}}`:             "cd",
		`{"resource":{"kinds":["*"]}}`:                                "abcd",
		`{"resource":{"kinds":["**"]}}`:                               "abcd",
		`{"resource":{"namespaces":["*"]}}`:                           "abcd",
		`{"resource":{"names":["web*"]}}`:                             "abd",
		`{"resource":{"names":["%web"]}}`:                             "acd",
		`{"resource":{"names":["*web%"]}}`:                            "abcd",
		`{"resource":{"names":["*e*b*"]}}`:                            "",
		`{"resource":{"names":["!web"]}}`:                             "",
		`{"resource":{"kinds":["ConfigMap"],"names":["web"]}}`:        "a",
		`{"resource":{"kindNames":["ConfigMap/web","Secret/x"]}}`:     "a",
		`{"resource":{"kindNamespaces":["ClusterRole/"]}}`:            "d",
		`{"resource":{"KINDNSNAMES":["Secret/other/my-web"]}}`:        "c",
		`{"resource":{"kindNames":["ConfigMap/*"]}}`:                  "",
		`{"resource":{"labels":["x=y"]}}`:                             "ad",
		`{"resource":{"labels":["x!=y"]}}`:                            "bc",
		`{"resource":{"labels":["x=z","z"]}}`:                         "bd",
		`{"resource":{"createdAtBeforeTime":"2024-05-01T11:30:00Z"}}`: "ab",
		`{"resource":{"createdAtAfterTime":"2024-05-01T11:30:00Z"}}`:  "cd",
		`{"not":{"resource":{"kinds":["ConfigMap"]}}}`:                "cd",
		`{"not":{}}`: "abcd",
		`{"and":[{"resource":{"names":["web*"]}},{"not":{"resource":{"kinds":["ConfigMap"]}}}]}`: "d",
		`{"or":[{"resource":{"names":["my-web"]}},{"resource":{"kinds":["ClusterRole"]}}]}`:      "cd",
		`{"and":[],"or":[],"resource":{"names":["web"]}}`:                                        "ad",
		`{"or":[{"resource":{}}],"and":[{}]}`:                                                    "",
	} {
		r, err := ParseResourceFilter(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := selected(r); got != want {
			t.Errorf("%s selects %q, want %q", text, got, want)
		}
	}
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		``:                             "Parsing filter '': unexpected end of JSON input",
		`{"and":[{"not"`:               `Parsing filter '{"and":[{"not"': unexpected end of JSON input`,
		`{"resource":{"kinds":"Pod"}}`: "cannot unmarshal string into Go struct field",
		`{"resource":{"kinds":[""]}}`: `Parsing filter '{"resource":{"kinds":[""]}}': ` +
			`Expected kinds to be non-empty, but one is an empty string ('*' stands for any)`,
		`{"and":[{"resource":{"namespaces":["a",""]}}]}`: "Expected namespaces to be non-empty",
		`{"not":{"resource":{"labels":["a==="]}}}`:       "Parsing label selector failed: ",
		`{"or":[{},{"resource":{"labels":["a in b"]}}]}`: "Parsing label selector failed: ",
		`{"resource":{}} {}`:                             "invalid character '{' after top-level value",
		`{"not":{"resourse":{}}}`: `Parsing filter '{"not":{"resourse":{}}}': ` +
			`json: unknown field "resourse"`,
		`{"resource":{"kind":["Pod"]}}`: `json: unknown field "kind"`,
	} {
		_, err := ParseResourceFilter(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{`[`, `{"newResource":{"names":[""]}}`, `{"not":{"op":["delete"]}}`,
		`{"and":[{"existingResource":{"labels":["=="]}}]}`} {
		if _, err := ParseChangeFilter(text); err == nil ||
			!strings.HasPrefix(err.Error(), "Parsing diff filter '"+text+"': ") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, c := range []struct {
		flags Flags
		want  string
	}{
		{Flags{Kinds: []string{"ConfigMap", "Secret"}, Names: []string{"*web"}}, "ac"},
		{Flags{Namespaces: []string{"other", "demo"}, Labels: []string{"x!=z"}}, "ac"},
		{Flags{KindNames: []string{"ClusterRole/web"}}, "d"},
		{Flags{KindNamespaces: []string{"Secret/other", "ClusterRole/"}}, "cd"},
		{Flags{KindNsNames: []string{"ConfigMap/demo/web"}}, "a"},
		{Flags{Age: "5m+"}, "abc"},
		{Flags{Age: "10m-"}, "cd"},
		{Flags{Age: "10m-", Names: []string{"web"}}, "d"},
		{Flags{Age: "1s-", Kinds: []string{"Pod"}, JSON: `{"resource":{"names":["my-web"]}}`}, "c"},
	} {
		r, err := c.flags.ResourceFilter(now)
		if err != nil || r == nil {
			t.Errorf("%+v: %v, %v", c.flags, r, err)
			continue
		}
		if got := selected(r); got != c.want {
			t.Errorf("%+v selects %q, want %q", c.flags, got, c.want)
		}
	}
	if r, err := (Flags{}).ResourceFilter(now); r != nil || err != nil || selected(r) != "abcd" {
		t.Errorf("no flags give %v, %v", r, err)
	}
}

func TestWrongFlags(t *testing.T) {
	age := "Expected age filter to be either empty or parseable time.Duration (example: 5m+, 24h-; " +
		"valid units: ns, us, ms, s, m, h)"
	for _, c := range []struct {
		flags Flags
		want  string
	}{
		{Flags{Age: "5m"}, age},
		{Flags{Age: "+"}, age},
		{Flags{Age: "5d+"}, age},
		{Flags{Age: "5m-+"}, age},
		{Flags{Age: "x-", JSON: "{}"}, age},
		{Flags{Names: []string{""}},
			"Parsing filter flags: Expected names to be non-empty, but one is an empty string ('*' " +
				"stands for any)"},
		{Flags{JSON: "x"}, "Parsing filter 'x': invalid character 'x' looking for beginning of value"},
	} {
		if r, err := c.flags.ResourceFilter(now); err == nil || err.Error() != c.want {
			t.Errorf("%+v: got %v, %v, want %s", c.flags, r, err, c.want)
		}
	}
}

func TestChange(t *testing.T) {
	changes := []struct {
		op            string
		new, existing *unstructured.Unstructured
	}{
		{"add", things['a'], nil},
		{"update", things['b'], things['c']},
		{"delete", nil, things['d']},
		{"keep", things['c'], things['c']},
	}
	for text, want := range map[string]string{
		``:                         "add update delete keep",
		`{}`:                       "add update delete keep",
		`null`:                     "add update delete keep",
		`{"and":[]}`:               "add update delete keep",
		`{"ops":["add"]}`:          "add",
		`{"OPS":["create"]}`:       "",
		`{"ops":["add","update"]}`: "",
		`{"or":[{"ops":["add"]},{"ops":["delete"]}]}`:                           "add delete",
		`{"newResource":{"kinds":["ConfigMap"]}}`:                               "add update",
		`{"existingResource":{"names":["*web"]}}`:                               "update delete keep",
		`{"not":{"existingResource":{"kinds":["Secret"]}}}`:                     "add delete",
		`{"newResource":{"kinds":["Pod"]},"existingResource":{"labels":["z"]}}`: "delete",
		`{"newResource":{},"ops":["delete"]}`:                                   "add update keep",
		`{"existingResource":{},"ops":["add"]}`:                                 "update delete keep",
		`{"not":{"newResource":{"kinds":["ConfigMap"]},"ops":["delete"]}}`:      "delete keep",
		`{"and":[{"newResource":{"labels":["x"]}},{"ops":["update"]}]}`:         "update",
		`{"and":[{}]}`:                       "add update delete keep",
		`{"or":[{"ops":["update"]},{}]}`:     "add update delete keep",
		`{"not":{}}`:                         "",
		`{"and":[{"not":{}},{"ops":["x"]}]}`: "",
	} {
		c, err := ParseChangeFilter(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, change := range changes {
			if c.Matches(change.op, change.new, change.existing) {
				got = append(got, change.op)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s selects %q, want %q", text, got, want)
		}
	}
}

// Without labels and age of an object, a filter says whether it may select it.
func TestMayMatch(t *testing.T) {
	for text, want := range map[string]string{
		`{"resource":{"kinds":["ConfigMap"]}}`:                                                  "ab",
		`{"resource":{"namespaces":["demo"],"labels":["x=y"]}}`:                                 "ab",
		`{"not":{"resource":{"namespaces":["demo"],"labels":["x=y"]}}}`:                         "abcd",
		`{"not":{"resource":{"namespaces":["demo"]}}}`:                                          "cd",
		`{"and":[{"resource":{"names":["web"]}},{"not":{"resource":{"kinds":["ConfigMap"]}}}]}`: "d",
		`{"or":[{"resource":{"kinds":["Secret"]}},{"resource":{"kinds":["ClusterRole"],` +
			`"labels":["x=z"]}}]}`: "cd",
		`{}`: "",
	} {
		r, err := ParseResourceFilter(text)
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		for _, letter := range []byte("abcd") {
			identity := things[letter].DeepCopy()
			identity.SetLabels(nil)
			if r.MayMatch(identity) {
				got = append(got, letter)
			}
		}
		if string(got) != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	if none := (*ResourceFilter)(nil); !none.MayMatch(things['a']) {
		t.Error("no filter excludes an object")
	}
}
