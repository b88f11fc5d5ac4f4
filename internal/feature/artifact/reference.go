package artifact

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/registry"
)

// Scheme begins the references of artifacts.
const Scheme = "oci://"

// shortDigest is the length of digests in names.
const shortDigest = 12

// Reference names an artifact, and a folder in it.
type Reference struct {
	Registry   string // host and port
	Repository string
	Tag        string        // empty if only the digest is named
	Digest     digest.Digest // empty if only the tag is named
	Folder     string        // with slashes; empty for the whole artifact
}

// IsReference reports whether an argument names an artifact.
func IsReference(text string) bool { return strings.HasPrefix(text, Scheme) }

// Parse reads a reference: oci://REGISTRY/REPOSITORY[:TAG][@DIGEST][//FOLDER].
func Parse(text string) (Reference, error) {
	r, err := parse(text)
	if err != nil {
		return r, fmt.Errorf("%s: %w", withoutUser(text), err)
	}
	return r, nil
}

// withoutUser returns a text without what could be a password in it.
func withoutUser(text string) string {
	host, rest, _ := strings.Cut(strings.TrimPrefix(text, Scheme), "/")
	if at := strings.LastIndex(host, "@"); at >= 0 {
		return Scheme + "...@" + host[at+1:] + "/" + rest
	}
	return text
}

func parse(text string) (Reference, error) {
	var r Reference
	rest, ok := strings.CutPrefix(text, Scheme)
	if !ok {
		return r, errors.New("a reference of an artifact begins with " + Scheme)
	}
	r.Registry, rest, _ = strings.Cut(rest, "/")
	if strings.Contains(r.Registry, "@") {
		return r, errors.New("credentials are not read from references: log in with 'docker login'")
	}
	rest, folder, inside := strings.Cut(rest, "//")
	if inside {
		if r.Folder = path.Clean(folder); !fs.ValidPath(r.Folder) || r.Folder == "." {
			return r, fmt.Errorf("%q is no folder in the artifact", folder)
		}
	}
	rest, sum, pinned := strings.Cut(rest, "@")
	if pinned {
		r.Digest = digest.Digest(sum)
		if err := r.Digest.Validate(); err != nil {
			return r, fmt.Errorf("%q is no digest; one looks like sha256: and 64 digits and letters", sum)
		}
	}
	r.Repository, r.Tag, _ = strings.Cut(rest, ":")
	tagged := registry.Reference{
		Registry: r.Registry, Repository: r.Repository, Reference: r.Tag,
	}
	switch {
	case r.Repository == "":
		return r, errors.New("the repository is missing, as in oci://registry.example.com/team/shop:1.0")
	case tagged.ValidateRegistry() != nil:
		return r, fmt.Errorf("%q is no address of a registry", r.Registry)
	case tagged.ValidateRepository() != nil:
		return r, fmt.Errorf("%q is no name of a repository: it has lower-case letters, digits, and "+
			"single . _ - / between them", r.Repository)
	case strings.Contains(rest, ":") && tagged.ValidateReferenceAsTag() != nil:
		return r, fmt.Errorf("%q is no tag", r.Tag)
	}
	return r, nil
}

// String returns the reference as a user types it.
func (r Reference) String() string {
	text := r.Base()
	if r.Tag != "" {
		text += ":" + r.Tag
	}
	if r.Digest != "" {
		text += "@" + r.Digest.String()
	}
	if r.Folder != "" {
		text += "//" + r.Folder
	}
	return text
}

// Short returns the reference with the beginning of its digest.
func (r Reference) Short() string {
	if algorithm, sum, ok := strings.Cut(r.Digest.String(), ":"); ok {
		r.Digest = digest.Digest(algorithm + ":" + sum[:min(shortDigest, len(sum))])
	}
	return r.String()
}

// Base returns the reference of the repository.
func (r Reference) Base() string { return Scheme + r.Registry + "/" + r.Repository }

// Exact returns the repository and the digest as other programs take them.
func (r Reference) Exact() string {
	return r.Registry + "/" + r.Repository + "@" + r.Digest.String()
}

// CheckVersion returns an error unless the reference names a tag or a digest.
func (r Reference) CheckVersion() error {
	if r.Tag == "" && r.Digest == "" {
		return fmt.Errorf("%s names no version: add a tag or a digest, as in %s:1.0", r, r.Base())
	}
	return nil
}

// Named returns the reference without its folder, and without the digest if it has a tag.
func (r Reference) Named() string {
	if r.Folder = ""; r.Tag != "" {
		r.Digest = ""
	}
	return r.String()
}
