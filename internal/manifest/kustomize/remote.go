package kustomize

import (
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/resource"
)

// repository matches the beginning of a repository's address in kustomize's grammar, and of what
// reads like one. It takes precedence over the file system, so a folder of such a name needs ./ in
// front.
var repository = regexp.MustCompile(
	`(?i)^\s*(git::|[a-z][a-z0-9+.-]*://|github\.com[/:]|[a-z][a-z0-9-]*@)`)

// isRemote reports whether the library would fetch what an entry names.
func isRemote(entry string) bool {
	if repository.MatchString(entry) || isHTTP(entry) {
		return true
	}
	return (&resource.Origin{}).Append(entry).Repo != "" // the library's own rule
}

// isHTTP reports whether a file would be fetched from a web server.
func isHTTP(entry string) bool {
	u, err := url.Parse(entry)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https")
}

// local returns a path that the library cannot take for an address: it begins with a slash, with ./
// or with ../ .
func local(path string) string {
	switch {
	case path == "", path == ".", path == "..", filepath.IsAbs(path),
		strings.HasPrefix(path, "./"), strings.HasPrefix(path, "../"):
		return path
	}
	return "./" + path
}

// splitSource returns the key, with its =, and the path of an entry of a generator's files. The
// library refuses an entry with several =.
func splitSource(entry string) (key, path string) {
	if key, path, keyed := strings.Cut(entry, "="); keyed {
		return key + "=", path
	}
	return "", entry
}
