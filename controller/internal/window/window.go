// Package window computes when the windows of a Set are open.
//
// A window opens at the times of a cron expression, which count in a time zone, and stays open for
// a while. A time that a zone skips, when its clocks are put forward, opens no window. Nothing is
// remembered: a clock that is set to another time changes the answer, and nothing else.
package window

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
)

// parser reads five fields, and no names such as @daily: a window that opens every day has a time.
var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// Check returns an error for the first window that cannot be read, or that never opens.
func Check(windows []v1alpha1.Window, now time.Time) error {
	for i, w := range windows {
		s, err := read(w)
		if err == nil && s.after(now).IsZero() {
			err = fmt.Errorf("cron: %q never occurs", w.Cron)
		}
		if err != nil {
			return fmt.Errorf("spec.windows[%d].%w", i, err)
		}
	}
	return nil
}

// Open reports whether one of the windows is open, or there are none. If not, opens is when the
// next one does; zero is never. Windows that Check refuses never open.
func Open(windows []v1alpha1.Window, now time.Time) (open bool, opens time.Time) {
	if len(windows) == 0 {
		return true, time.Time{}
	}
	for _, w := range windows {
		s, err := read(w)
		if err != nil {
			continue
		}
		if last := s.after(now.Add(-w.Duration.Duration)); !last.IsZero() && !last.After(now) {
			return true, time.Time{}
		}
		if next := s.after(now); !next.IsZero() && (opens.IsZero() || next.Before(opens)) {
			opens = next
		}
	}
	return false, opens
}

// schedule is when a window opens.
type schedule struct {
	cron cron.Schedule
	zone *time.Location
}

// read returns the schedule of a window. The error begins with the field.
func read(w v1alpha1.Window) (s schedule, err error) {
	if w.TimeZone == "Local" { // that of the machine
		return s, fmt.Errorf("timeZone: unknown time zone %s", w.TimeZone)
	}
	if s.zone, err = time.LoadLocation(w.TimeZone); err != nil {
		return s, fmt.Errorf("timeZone: %w", err)
	}
	if len(strings.Fields(w.Cron)) != 5 || strings.Contains(w.Cron, "=") {
		return s, fmt.Errorf("cron: %q has to have five fields: minute, hour, day of the month, month "+
			"and day of the week", w.Cron)
	}
	if s.cron, err = parser.Parse(w.Cron); err != nil {
		return s, fmt.Errorf("cron: %q: %w", w.Cron, err)
	}
	return s, nil
}

// after returns the first time after another one at which the window opens; zero if there is none
// in the next five years.
func (s schedule) after(t time.Time) time.Time { return s.cron.Next(t.Round(0).In(s.zone)) }
