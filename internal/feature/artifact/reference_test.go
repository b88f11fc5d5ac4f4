package artifact

import (
	"slices"
	"strings"
	"testing"
)

var someDigest = "sha256:" + strings.Repeat("1a", 32)

// TestParse checks which texts are references.
func TestParse(t *testing.T) {
	for _, text := range []string{
		"oci://reg/shop", "oci://reg.example.com:5000/team/shop:1.4.0", "oci://[::1]:5000/shop:v1",
		"oci://reg/shop@" + someDigest, "oci://reg/shop:1.4.0@" + someDigest,
		"oci://reg/shop:1.4.0//prod/eu", "oci://reg/shop@" + someDigest + "//prod",
	} {
		r, err := Parse(text)
		if err != nil || r.String() != text {
			t.Errorf("%s is read as %s, %v", text, r, err)
		}
	}
	for text, want := range map[string]string{
		"shop":                             "begins with oci://",
		"oci://reg":                        "the repository is missing",
		"oci://reg/":                       "the repository is missing",
		"oci://reg/Shop:1":                 "is no name of a repository",
		"oci://reg/shop:":                  `"" is no tag`,
		"oci://reg/shop:a b":               `"a b" is no tag`,
		"oci://reg/shop@sha256:12":         "is no digest",
		"oci://reg/shop@":                  "is no digest",
		"oci://re g/shop":                  "is no address of a registry",
		"oci://reg/shop:1//../x":           `"../x" is no folder in the artifact`,
		"oci://reg/shop:1//":               `"" is no folder in the artifact`,
		"oci://reg/shop:1///etc":           `"/etc" is no folder in the artifact`,
		"oci://ann:secret@reg/shop":        "credentials are not read from references",
		"oci://reg/shop?x=1":               "is no name of a repository",
		"oci://ann:secret@reg/shop@sha256": "credentials are not read from references",
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// TestNames checks how references are printed.
func TestNames(t *testing.T) {
	r, err := Parse("oci://reg/shop:1.4.0@" + someDigest + "//prod")
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		r.Short(): "oci://reg/shop:1.4.0@sha256:1a1a1a1a1a1a//prod",
		r.Named(): "oci://reg/shop:1.4.0",
		r.Exact(): "reg/shop@" + someDigest,
		r.Base():  "oci://reg/shop",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// FuzzParse checks that what is read is printed as it was.
func FuzzParse(f *testing.F) {
	f.Add("oci://reg/shop:1.4.0@" + someDigest + "//prod")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(r.String())
		if err != nil || again != r {
			t.Errorf("%q is printed as %q: %v", text, r, err)
		}
	})
}

// TestVersions checks which tags are in a range, and the order of tags.
func TestVersions(t *testing.T) {
	tags := []string{"latest", "1.2.9", "v1.3.0", "1.4", "1.4.2", "1.10.0", "2.0.0-rc.1", "2.0.0"}
	for text, want := range map[string]string{
		"":                 "2.0.0 2.0.0-rc.1 1.10.0 1.4.2 v1.3.0 1.2.9 1.4 latest",
		">=1.3":            "2.0.0 1.10.0 1.4.2 v1.3.0",
		">=1.3 <2":         "1.10.0 1.4.2 v1.3.0",
		">=1.3, <2":        "1.10.0 1.4.2 v1.3.0",
		"1.4":              "1.4.2",
		"1":                "1.10.0 1.4.2 v1.3.0 1.2.9",
		">=v1.4.2 || 1.2":  "2.0.0 1.10.0 1.4.2 1.2.9",
		">=2.0.0-rc.0":     "2.0.0 2.0.0-rc.1",
		"1.4.2 || 1.10.0 ": "1.10.0 1.4.2",
	} {
		versions, err := ParseVersions(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		isOther := func(tag string) bool { return !versions.has(tag) }
		found := slices.DeleteFunc(slices.Clone(tags), isOther)
		slices.SortStableFunc(found, compareTags)
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	if _, err := ParseVersions("newest"); err == nil {
		t.Error("a word is a range of versions")
	}
}
