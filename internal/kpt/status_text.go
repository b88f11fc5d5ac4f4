package kpt

import (
	"fmt"
	"strings"

	"github.com/muster-deploy/muster/internal/event"
)

// plainStatus is the native line for the status of an object, with its causes below.
func plainStatus(_ string, e event.Event) string {
	line := fmt.Sprintf("%s is %s: %s", e.Ref.Short(), e.Status.State, e.Status.Message)
	return strings.Join(append([]string{line}, causes(e)...), "\n")
}

// liveStatus is the line of kpt live: it names the inventory, and the namespace even where there is none.
func liveStatus(inventory string, e event.Event) string {
	kind, name, _ := strings.Cut(e.Ref.Short(), "/")
	return fmt.Sprintf("%s/%s/%s/%s is %s: %s", inventory, kind, e.Ref.Namespace, name, e.Status.State, e.Status.Message)
}
