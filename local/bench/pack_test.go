package main

import "testing"

func TestPackOfTwoEditions(t *testing.T) {
	p, err := newPack(t.TempDir(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.write(shapes, 250, 2); err != nil {
		t.Fatal(err)
	}
	objects, err := readObjects(p.objects())
	if err != nil {
		t.Fatal(err)
	}
	kinds, changed := map[string]int{}, 0
	for _, obj := range objects {
		kinds[obj.GetKind()]++
		if obj.GetAnnotations()["example.com/edition"] == "2" {
			changed++
		}
		if obj.GetNamespace() != "demo" {
			t.Fatalf("%s is in the namespace %q", obj.GetName(), obj.GetNamespace())
		}
	}
	if len(objects) != 250 || len(kinds) != len(shapes) || changed != 3 {
		t.Errorf("%d objects of %v, %d of the second edition", len(objects), kinds, changed)
	}
}
