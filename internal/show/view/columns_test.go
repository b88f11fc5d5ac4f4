package view

import (
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 90 * time.Second: "90s", 91 * time.Second: "1m", 90 * time.Minute: "90m",
		91 * time.Minute: "1h", 50 * time.Hour: "50h",
	} {
		if got := Age(d); got != want {
			t.Errorf("Age(%s) = %s, want %s", d, got, want)
		}
	}
}
