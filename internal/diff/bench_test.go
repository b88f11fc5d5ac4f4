package diff

import "testing"

func BenchmarkBetween(b *testing.B) {
	live := section(b, "applied_deployment", "live.yaml")
	changed := section(b, "applied_deployment", "live.yaml")
	changed.SetLabels(map[string]string{"app": "other"})
	b.Run("equal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Between(live, live, Options{})
		}
	})
	b.Run("changed", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Between(live, changed, Options{})
		}
	})
}

func BenchmarkThreeWay(b *testing.B) {
	live := section(b, "applied_deployment", "live.yaml")
	same := section(b, "applied_deployment", "want.yaml")
	changed := section(b, "applied_deployment_image", "want.yaml")
	b.Run("unchanged", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := ThreeWay(same, same, live); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("changed", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := ThreeWay(same, changed, live); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkAppliedBy(b *testing.B) {
	live := section(b, "applied_deployment", "live.yaml")
	want := section(b, "applied_deployment", "want.yaml")
	b.ReportAllocs()
	for b.Loop() {
		if ok, err := AppliedBy(want, live, "muster"); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}
