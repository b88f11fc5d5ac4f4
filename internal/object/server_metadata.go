package object

import "slices"

// serverMetadata are the fields of metadata that only the server writes, sorted.
var serverMetadata = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation",
	"managedFields", "resourceVersion", "selfLink", "uid",
}

// ServerMetadata returns the fields of metadata that only the server writes, sorted.
func ServerMetadata() []string { return slices.Clone(serverMetadata) }
