// Package types tests the table of the kinds of package builtin whose Go types only the servers of
// Kubernetes have: those of definitions of custom resources and of API services.
package types
