package manifest

import (
	"strings"
	"testing"
)

// named returns the name that an object gets.
func named(t *testing.T, text string) string {
	t.Helper()
	objects, err := Parse(t.Context(), []byte(text), "m.yaml", Options{Unnamed: IsGenerated})
	if err == nil {
		err = NameGenerated(objects)
	}
	if err != nil || len(objects) != 1 || objects[0].GetGenerateName() != "" {
		t.Fatalf("%v: %v", objects, err)
	}
	return objects[0].GetName()
}

// The name of an object with a generateName is made from its content, within what its kind allows.
func TestNameGenerated(t *testing.T) {
	const job = "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: migrate-}\nspec: {n: 1}\n"
	name := named(t, job)
	if !strings.HasPrefix(name, "migrate-") || len(name) != len("migrate-")+hashLength {
		t.Errorf("the name is %q", name)
	}
	for what, same := range map[string]string{
		"the same": job,
		"the order of keys": "kind: Job\napiVersion: batch/v1\nspec: {n: 1}\n" +
			"metadata: {generateName: migrate-}\n",
		"a namespace":         strings.Replace(job, "migrate-", "migrate-, namespace: shop", 1),
		"an empty name":       strings.Replace(job, "migrate-", `migrate-, name: ""`, 1),
		"metadata of servers": strings.Replace(job, "migrate-", "migrate-, uid: u, generation: 3", 1),
	} {
		if got := named(t, same); got != name {
			t.Errorf("%s: %q, not %q", what, got, name)
		}
	}
	if other := named(t, strings.Replace(job, "n: 1", "n: 2", 1)); other == name {
		t.Errorf("other content has the name %q, too", other)
	}
	long := strings.Replace(job, "migrate-", strings.Repeat("x", 70), 1)
	if got := named(t, long); len(got) != 63 {
		t.Errorf("the name %q has %d letters", got, len(got))
	}
	if got := named(t, strings.Replace(long, "Job", "CronJob", 1)); len(got) != 52 {
		t.Errorf("the name %q has %d letters", got, len(got))
	}
	fixed := strings.Replace(job, "migrate-", "migrate-, name: fixed", 1)
	objects, err := Parse(t.Context(), []byte(fixed), "m.yaml", Options{})
	if err == nil {
		err = NameGenerated(objects)
	}
	if err != nil || objects[0].GetName() != "fixed" {
		t.Errorf("%v: %v", objects, err)
	}
}
