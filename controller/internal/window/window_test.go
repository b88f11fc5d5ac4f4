package window

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
)

// of returns a window.
func of(cron string, open time.Duration, zone string) v1alpha1.Window {
	return v1alpha1.Window{Cron: cron, Duration: metav1.Duration{Duration: open}, TimeZone: zone}
}

func TestOpen(t *testing.T) {
	office := of("0 9 * * 1-4", 2*time.Hour, "Europe/London") // Monday to Thursday
	night := of("30 23 * * *", time.Hour, "")
	for _, test := range []struct {
		name    string
		windows []v1alpha1.Window
		now     string
		opens   string // empty if a window is open
	}{
		{"no windows", nil, "2026-07-06T08:00:00Z", ""},
		{"before", []v1alpha1.Window{office}, "2026-07-06T07:59:59Z", "2026-07-06T08:00:00Z"},
		{"at its beginning", []v1alpha1.Window{office}, "2026-07-06T08:00:00Z", ""},
		{"at its last moment", []v1alpha1.Window{office}, "2026-07-06T09:59:59.999Z", ""},
		{"at its end", []v1alpha1.Window{office}, "2026-07-06T10:00:00Z", "2026-07-07T08:00:00Z"},
		{"over days without", []v1alpha1.Window{office}, "2026-07-09T10:00:00Z",
			"2026-07-13T08:00:00Z"},
		{"in winter", []v1alpha1.Window{office}, "2026-12-07T08:30:00Z", "2026-12-07T09:00:00Z"},
		{"over midnight", []v1alpha1.Window{night}, "2026-07-07T00:29:00Z", ""},
		{"after midnight", []v1alpha1.Window{night}, "2026-07-07T00:30:00Z", "2026-07-07T23:30:00Z"},
		{"the first of two", []v1alpha1.Window{night, office}, "2026-07-07T01:00:00Z",
			"2026-07-07T08:00:00Z"},
		{"one of two", []v1alpha1.Window{office, night}, "2026-07-07T23:45:00Z", ""},
		{"longer than a period", []v1alpha1.Window{of("0 * * * *", 90*time.Minute, "")},
			"2026-07-07T23:59:59Z", ""},
		// Clocks are put forward from 1:00 to 2:00 on 29 March, and back from 2:00 to 1:00 on 25 October.
		{"at a time that is skipped", []v1alpha1.Window{of("30 1 * * *", time.Hour, "Europe/London")},
			"2026-03-29T01:35:00Z", "2026-03-30T00:30:00Z"},
		{"over a time that is skipped",
			[]v1alpha1.Window{of("30 0 * * *", time.Hour, "Europe/London")}, "2026-03-29T01:29:00Z", ""},
		{"over a time that comes twice",
			[]v1alpha1.Window{of("30 0 * * *", time.Hour, "Europe/London")}, "2026-10-25T00:30:00Z",
			"2026-10-26T00:30:00Z"},
		{"that cannot be read", []v1alpha1.Window{of("x", time.Hour, "")}, "2026-07-07T00:00:00Z",
			"0001-01-01T00:00:00Z"},
	} {
		t.Run(test.name, func(t *testing.T) {
			now, err := time.Parse(time.RFC3339Nano, test.now)
			if err != nil {
				t.Fatal(err)
			}
			open, opens := Open(test.windows, now)
			got := ""
			if !open {
				got = opens.UTC().Format(time.RFC3339)
			}
			if got != test.opens {
				t.Errorf("got %q, want %q", got, test.opens)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		window v1alpha1.Window
		want   string // empty if it is valid
	}{
		{of("0 9 * * MON-THU", time.Hour, "Europe/London"), ""},
		{of("0 9 29 2 *", time.Hour, ""), ""},
		{of("0 9 * * 8", time.Hour, ""),
			`spec.windows[0].cron: "0 9 * * 8": end of range (8) above maximum (6): 8`},
		{of("0 9 * *", time.Hour, ""), `spec.windows[0].cron: "0 9 * *" has to have five fields: ` +
			"minute, hour, day of the month, month and day of the week"},
		{of("TZ=UTC 0 9 * *", time.Hour, ""), `spec.windows[0].cron: "TZ=UTC 0 9 * *" has to have ` +
			"five fields: minute, hour, day of the month, month and day of the week"},
		{of("@daily", time.Hour, ""), `spec.windows[0].cron: "@daily" has to have five fields: ` +
			"minute, hour, day of the month, month and day of the week"},
		{of("0 9 30 2 *", time.Hour, ""), `spec.windows[0].cron: "0 9 30 2 *" never occurs`},
		{of("0 9 * * *", time.Hour, "Mars/Olympus"),
			"spec.windows[0].timeZone: unknown time zone Mars/Olympus"},
		{of("0 9 * * *", time.Hour, "Local"), "spec.windows[0].timeZone: unknown time zone Local"},
	} {
		got := ""
		if err := Check([]v1alpha1.Window{test.window}, now); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%+v: got %q, want %q", test.window, got, test.want)
		}
	}
}
