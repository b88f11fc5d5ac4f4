package app

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// operation is a method of an App that writes or deletes a record; verb begins the request.
type operation struct {
	run    func(*testing.T, *App) error
	record func(*App) object.Ref
	verb   string
}

var operations = map[string]operation{
	"finish":        {finish, (*App).RecordRef, "replace"},
	"finish-change": {finish, func(a *App) object.Ref { return object.RefOf(a.running) }, "replace"},
	"delete": {
		func(t *testing.T, a *App) error { return a.Delete(t.Context()) }, (*App).RecordRef, "delete",
	},
	"rename": {
		func(t *testing.T, a *App) error { return a.Rename(t.Context(), "new", "demo", false) },
		(*App).RecordRef, "delete",
	},
}

func finish(t *testing.T, a *App) error { return a.Finish(t.Context(), true, nil) }

// interference is what others do to a record. The error, if any, is the answer to the next request.
var interference = map[string]func(f *fake, ref object.Ref) error{
	"label": func(f *fake, ref object.Ref) error {
		f.objects[ref].SetLabels(map[string]string{"kapp.k14s.io/is-app": "", "theirs": ""})
		f.put(f.objects[ref])
		return nil
	},
	"kinds": func(f *fake, ref object.Ref) error {
		m, err := parseMeta(recordText(f.objects[ref]))
		if err != nil {
			return err
		}
		m.setUsed(m.used().union(usedOf(nil, []schema.GroupKind{deployment})))
		if err := setRecordText(f.objects[ref], m.JSON()); err != nil {
			return err
		}
		f.put(f.objects[ref])
		return nil
	},
	"deleted": func(f *fake, ref object.Ref) error { delete(f.objects, ref); return nil },
	"replaced": func(f *fake, ref object.Ref) error {
		delete(f.objects, ref)
		f.put(recorded(ref.Namespace, ref.Name, spec("2", "[]"), isApp))
		return nil
	},
	"refused": func(*fake, object.Ref) error { return errors.New("refused") },
}

// TestConflicts prints the sorted requests and the errors of operations whose record others change.
func TestConflicts(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, files map[string]string) map[string]string {
		var out strings.Builder
		for line := range strings.Lines(files["cases"]) {
			fields := strings.Fields(line)
			f, o := newFake(), operations[fields[0]]
			app, err := newStore(f).Ensure(t.Context(), Request{Name: "web", Namespace: "demo"})
			if err != nil {
				t.Fatal(err)
			}
			app.SetKinds(nil, []schema.GroupKind{secret}, nil)
			if err := app.Begin(t.Context(), "update", nil, true); err != nil {
				t.Fatal(err)
			}
			f.requests()
			ref := o.record(app)
			verb, rest := o.verb, fields[1:]
			f.refuse = func(sent string) error {
				f.mu.Lock()
				defer f.mu.Unlock()
				if sent != verb+" "+ref.Namespace+"/"+ref.Name || len(rest) == 0 {
					return nil
				}
				change := interference[rest[0]]
				verb, rest = "get", rest[1:]
				return change(f, ref)
			}
			err = o.run(t, app)
			fmt.Fprintf(&out, "%s\t%s\n\t%s\n", line, strings.Join(f.requests(), ", "),
				strings.ReplaceAll(fmt.Sprint(err), ref.Name, "NAME"))
		}
		return map[string]string{"results": out.String()}
	})
}
