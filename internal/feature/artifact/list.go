package artifact

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/blang/semver/v4"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
)

// Versions is a range of versions.
type Versions struct {
	text       string
	contains   semver.Range // nil contains all tags, also those that are no versions
	prerelease bool         // versions with a suffix are contained, too
}

// In ranges: the letter before a version, and versions without all of their three parts.
var (
	letter  = regexp.MustCompile(`(^|[\s<>=!|])v(\d)`)
	partial = regexp.MustCompile(`(^|[\s<>=!|])(\d+(\.\d+)?)($|[\s|])`)
)

// ParseVersions reads a range such as >=1.3 <2; an empty one contains all tags.
func ParseVersions(text string) (Versions, error) {
	text = strings.ReplaceAll(text, ",", " ")
	if strings.TrimSpace(text) == "" {
		return Versions{}, nil
	}
	complete := letter.ReplaceAllString(text, "$1$2")
	for range 2 { // matches share the characters between them
		complete = partial.ReplaceAllString(complete, "$1$2.x$4")
	}
	contains, err := semver.ParseRange(complete)
	if err != nil {
		return Versions{}, fmt.Errorf("%q is no range of versions; write one as in '>=1.3 <2', or '1.4' "+
			"for all of 1.4", text)
	}
	return Versions{text, contains, strings.Contains(text, "-")}, nil
}

// parseVersion returns the version that a tag is.
func parseVersion(tag string) (semver.Version, bool) {
	v, err := semver.Parse(strings.TrimPrefix(tag, "v"))
	return v, err == nil
}

// has reports whether a tag is in the range.
func (v Versions) has(tag string) bool {
	if v.contains == nil {
		return true
	}
	version, ok := parseVersion(tag)
	return ok && v.contains(version) && (len(version.Pre) == 0 || v.prerelease)
}

// Tagged is an artifact with a tag. What its manifest does not say is empty.
type Tagged struct {
	Tag      string `json:"tag"`
	Digest   string `json:"digest"`
	Type     string `json:"type,omitempty"`
	Created  string `json:"created,omitempty"` // as in RFC 3339
	Revision string `json:"revision,omitempty"`
	Source   string `json:"source,omitempty"`
	Version  string `json:"version,omitempty"`
}

// attached matches the tags that tools make for what belongs to another artifact: its signature, or
// the places of its images.
var attached = regexp.MustCompile(`^sha256-[0-9a-f]{64}($|\.)`)

// concurrency limits the requests at once.
const concurrency = 8

// List returns the tags in a range of versions: versions first, the newest on top, then other tags
// by name.
func (r *Repository) List(ctx context.Context, v Versions) ([]Tagged, error) {
	tags, err := r.sortedTags(ctx)
	if err != nil {
		return nil, err
	}
	tags = slices.DeleteFunc(tags, func(tag string) bool { return !v.has(tag) })
	tagged, errs := make([]Tagged, len(tags)), make([]error, len(tags))
	slots := make(chan struct{}, concurrency)
	var requests sync.WaitGroup
	for i, tag := range tags {
		slots <- struct{}{}
		requests.Go(func() { // ends with its request; List waits
			defer func() { <-slots }()
			tagged[i], errs[i] = r.describe(ctx, tag)
		})
	}
	requests.Wait()
	return tagged, errors.Join(errs...)
}

// sortedTags returns the tags in the order of List. Those that belong to another artifact are left
// out.
func (r *Repository) sortedTags(ctx context.Context) ([]string, error) {
	tags, err := r.Tags(ctx)
	tags = slices.DeleteFunc(tags, attached.MatchString)
	slices.SortStableFunc(tags, compareTags)
	return tags, err
}

// maxNamed is the number of tags that an error names.
const maxNamed = 5

// Newest returns the tag with the highest version in a range. It sends no request for manifests.
func (r *Repository) Newest(ctx context.Context, v Versions) (string, error) {
	tags, err := r.sortedTags(ctx)
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(tags, v.has); i >= 0 {
		return tags[i], nil
	}
	some := "it has no tags"
	if len(tags) > 0 {
		some = "it has " + strings.Join(tags[:min(maxNamed, len(tags))], ", ")
	}
	if more := len(tags) - maxNamed; more > 0 {
		some += fmt.Sprintf(" and %d more", more)
	}
	return "", fmt.Errorf("%s: no tag is a version in %q: %s", r.Base(), v.text, some)
}

// compareTags orders versions, the newest first, before other tags.
func compareTags(a, b string) int {
	x, isX := parseVersion(a)
	y, isY := parseVersion(b)
	switch {
	case isX && isY:
		return cmp.Or(y.Compare(x), cmp.Compare(a, b))
	case isX != isY:
		return map[bool]int{true: -1, false: 1}[isX]
	default:
		return cmp.Compare(a, b)
	}
}

// describe returns an artifact by its tag.
func (r *Repository) describe(ctx context.Context, tag string) (Tagged, error) {
	d, body, err := r.remote.FetchReference(ctx, tag)
	if err != nil {
		return Tagged{}, r.At(tag).explain(err)
	}
	defer func() { _ = body.Close() }() // it is only read
	text, err := content.ReadAll(io.LimitReader(body, maxManifest), d)
	if err != nil {
		return Tagged{}, r.At(tag).explain(err)
	}
	var m struct {
		ArtifactType string             `json:"artifactType"`
		Config       ocispec.Descriptor `json:"config"`
		Annotations  map[string]string  `json:"annotations"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return Tagged{}, fmt.Errorf("%s is no manifest of an artifact", r.At(tag).Reference)
	}
	return Tagged{
		Tag: tag, Digest: d.Digest.String(), Type: cmp.Or(m.ArtifactType, m.Config.MediaType),
		Created: m.Annotations[AnnotationCreated], Revision: m.Annotations[AnnotationRevision],
		Source: m.Annotations[AnnotationSource], Version: m.Annotations[AnnotationVersion],
	}, nil
}
