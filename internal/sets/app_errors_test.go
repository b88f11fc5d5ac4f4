package sets

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/sets/app"
)

// Errors about apps are worded as those about packages: without kapp's words and flags.
func TestNativeErrors(t *testing.T) {
	other := errors.New("something else")
	refused := errors.New("no")
	for _, tc := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{other, "something else"},
		{&app.NotFoundError{Namespace: "n"}, `there is no record of app "web" in namespace n; ` +
			"muster list -A shows all"},
		{&app.NotFoundError{Namespace: "n", Others: []string{"a", "b"}}, `there is no record of app ` +
			`"web" in namespace n; apps of this name are in the namespaces a, b: name one with -n`},
		{&app.UnlistableError{Permissions: []string{"list secrets"}}, `app "web" is not destroyed: it ` +
			"may have objects that you may not list, and without its record nothing would find them; " +
			"have somebody destroy it who may:\n  - list secrets"},
		{&app.LostRecordError{}, `another run has destroyed app "web" meanwhile; nothing is left of ` +
			"it, apply it again"},
		{&app.LostRecordError{Left: []string{"x"}, Restored: true}, `another run has destroyed app ` +
			`"web" meanwhile; what is left of it is recorded again: apply it again, or destroy it:` +
			"\n  - x"},
		{errors.Join(other, &app.RecordCreatedError{}), "something else\n" +
			`another run has created the record of app "web" meanwhile; run the command again`},
		{&app.RecordCreatedError{}, `another run has created the record of app "web" meanwhile; run ` +
			"the command again"},
		{&app.RecordChangedError{}, `the record of app "web" is kept, because another run has changed ` +
			"it meanwhile; run the command again"},
		{errors.Join(other, refused), "something else\nno"},
		{&app.UnreadError{Namespace: "n", Err: other}, `read the record of app "web": something else`},
		{&app.UnreadError{Namespace: "n", Err: apierrors.NewForbidden(
			schema.GroupResource{Resource: "configmaps"}, "web", errors.New("no"))},
			`read the record of app "web": configmaps "web" is forbidden: no; it needs the right to get ` +
				"configmaps in namespace n"},
	} {
		set := &appSet{request: Request{App: "web"}}
		got := set.nativeError(tc.err)
		if (got == nil) != (tc.want == "") || got != nil && got.Error() != tc.want {
			t.Errorf("got:\n%v\nwant:\n%s", got, tc.want)
		}
		if got != nil && strings.Contains(got.Error(), "(hint:") {
			t.Errorf("kapp's words: %v", got)
		}
	}
}
