package managed

// The states of a Set, in the words of its conditions.
const (
	StateReady       = "Ready"
	StateNotReady    = "NotReady"
	StateReconciling = "Reconciling"
	StateStalled     = "Stalled"
	StateTerminating = "Terminating"
	StateUnknown     = "Unknown"
)

// State returns what the Set is in one word, and why; the reason may be empty.
func (s *Set) State() (state, reason string) {
	_, message := s.Ready()
	switch {
	case s.Deleted:
		return StateTerminating, s.message(reconciling)
	case len(s.Status.Conditions) == 0:
		return StateUnknown, "the controller has not looked at it yet"
	case !s.Observed():
		return StateUnknown, "the controller has not seen its last change yet"
	case s.isTrue(ready):
		return StateReady, message
	case s.isTrue(stalled):
		return StateStalled, message
	case s.isTrue(reconciling):
		return StateReconciling, s.message(reconciling)
	}
	return StateNotReady, message
}

// SourceError returns why the manifests could not be fetched; empty if they could, or if that is
// not known.
func (s *Set) SourceError() string {
	c := s.condition(sourceReady)
	if c == nil || s.isTrue(sourceReady) {
		return ""
	}
	return c.Message
}

// message returns that of a condition; empty if the Set does not have it.
func (s *Set) message(of string) string {
	if c := s.condition(of); c != nil {
		return c.Message
	}
	return ""
}
