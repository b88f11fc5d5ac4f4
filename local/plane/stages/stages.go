// Package stages holds the rules by which a plane simulates what it does not run: nodes, the life
// of pods, volumes and load balancers. They are kwok's stages, one file per kind of object;
// muster-kwok reads them. Which stage comes next is decided by its selector alone, so the selectors
// of one kind exclude each other.
package stages

import "embed"

// Files are the stages: YAML files with one or more documents each.
//
//go:embed *.yaml
var Files embed.FS
