package artifact

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oras.land/oras-go/v2/registry/remote/auth"
)

// entryOf returns an entry of docker's configuration.
func entryOf(user, password string) string {
	return fmt.Sprintf(`{"auth":%q}`, base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
}

// TestCredentials checks which credential is used for a repository, and that it is for the host of
// the repository alone.
func TestCredentials(t *testing.T) {
	config := `{"credsStore":"none-such","auths":{
		"https://index.docker.io/v1/":` + entryOf("hub", "1") + `,
		"registry.example.com":` + entryOf("all", "2") + `,
		"registry.example.com/team-a":` + entryOf("team", "3") + `,
		"https://registry.example.com/team-a/shop/":` + entryOf("shop", "4") + `,
		"localhost:5000":{"username":"local","password":"5"},
		"token.example.com":{"identitytoken":"refresh","registrytoken":"access"},
		"v1.example.com/v1":` + entryOf("old", "6") + `}}`
	c, err := ParseCredentials([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]struct{ host, user string }{
		"oci://docker.io/library/shop:1":                {"registry-1.docker.io", "hub"},
		"oci://registry-1.docker.io/library/shop:1":     {"registry-1.docker.io", "hub"},
		"oci://registry.example.com/other/shop:1":       {"registry.example.com", "all"},
		"oci://registry.example.com/team-ab/shop:1":     {"registry.example.com", "all"},
		"oci://registry.example.com/team-a/web:1":       {"registry.example.com", "team"},
		"oci://registry.example.com/team-a/shop:1":      {"registry.example.com", "shop"},
		"oci://registry.example.com/team-a/shop/db:1":   {"registry.example.com", "shop"},
		"oci://localhost:5000/shop:1":                   {"localhost:5000", "local"},
		"oci://localhost:5001/shop:1":                   {"localhost:5001", ""},
		"oci://v1.example.com/shop:1":                   {"v1.example.com", "old"},
		"oci://registry.example.com.evil.org/team-a/x:": {"", ""},
	} {
		r, err := Parse(strings.TrimSuffix(text, ":"))
		if err != nil {
			t.Fatal(err)
		}
		get := c.of(r)
		if got, err := get(t.Context(), want.host); err != nil || got.Username != want.user {
			t.Errorf("%s: got %q, %v; want %q", text, got.Username, err, want.user)
		}
		if got, err := get(t.Context(), "other.example.com"); err != nil || got != auth.EmptyCredential {
			t.Errorf("%s: another host gets %q, %v", text, got.Username, err)
		}
	}
	r := Reference{Registry: "token.example.com", Repository: "shop"}
	got, err := c.of(r)(t.Context(), r.Registry)
	want := auth.Credential{RefreshToken: "refresh", AccessToken: "access"}
	if err != nil || got != want {
		t.Errorf("got %v tokens, %v", got != auth.EmptyCredential, err)
	}
}

// TestBadCredentials: errors have nothing of the text but addresses.
func TestBadCredentials(t *testing.T) {
	const secret = "hunter2"
	for name, config := range map[string]string{
		"no JSON":        `{"auths":` + secret,
		"a list":         `["` + secret + `"]`,
		"a text":         `{"auths":{"registry":"` + secret + `"}}`,
		"no base64":      `{"auths":{"registry":{"auth":"` + secret + `!"}}}`,
		"without colon":  `{"auths":{"registry":{"auth":"aHVudGVyMg=="}}}`,
		"a wrong type":   `{"auths":{"registry":{"password":["` + secret + `"]}}}`,
		"a wrong number": `{"auths":"` + secret + `"}`,
	} {
		_, err := ParseCredentials([]byte(config))
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := ParseCredentials(nil); err != nil {
		t.Errorf("no text: %v", err)
	}
}

// TestAccessCredentials: with explicit credentials, those of docker's configuration are not sent.
func TestAccessCredentials(t *testing.T) {
	var users []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, _, ok := r.BasicAuth(); ok {
			users = append(users, user)
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	host := server.Listener.Addr().String()
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	config := `{"auths":{"` + host + `":` + entryOf("environment", "1") + `}}`
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	given, err := ParseCredentials([]byte(strings.ReplaceAll(config, entryOf("environment", "1"),
		entryOf("given", "2"))))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		credentials *Credentials
		want        string
	}{
		{nil, "environment"},
		{given, "given"},
		{&Credentials{}, ""},
	} {
		users = nil
		access := Access{PlainHTTP: true, Credentials: test.credentials, Advice: Advice{Login: "ask"}}
		r := Reference{Registry: host, Repository: "shop", Tag: "1"}
		repo, err := access.Open(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		_, err = repo.Resolve(t.Context())
		if err == nil || !strings.HasSuffix(err.Error(), "or there are none: ask") {
			t.Errorf("%q: got %v", test.want, err)
		}
		if got := strings.Join(users, " "); got != test.want {
			t.Errorf("the registry has seen %q, want %q", got, test.want)
		}
	}
	err = Access{Credentials: given}.Verify(t.Context(), Reference{}, Verification{Key: "k"})
	if err == nil || !strings.Contains(err.Error(), "cosign reads no credentials but") {
		t.Errorf("cosign: got %v", err)
	}
}

// TestContentError: what is wrong with a content is known as such, whatever fetches it.
func TestContentError(t *testing.T) {
	a, err := Build(sample, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := a.Layer
		if strings.Contains(r.URL.Path, "/manifests/") {
			body = a.Manifest
			w.Header().Set("Content-Type", a.Descriptor.MediaType)
		}
		_, _ = w.Write(body)
	}))
	defer server.Close()
	r := Reference{Registry: server.Listener.Addr().String(), Repository: "shop", Digest: a.Digest()}
	repo, err := Access{PlainHTTP: true, Credentials: &Credentials{}}.Open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if tree, err := repo.Tree(t.Context(), a.Descriptor, MaxBytes); err != nil || !tree.Equal(sample) {
		t.Errorf("got %v, %v", tree.Paths(), err)
	}
	content := (*ContentError)(nil)
	_, err = repo.Tree(t.Context(), a.Descriptor, 10)
	if !errors.As(err, &content) || !strings.Contains(err.Error(), "have more than 10 bytes") {
		t.Errorf("got %v", err)
	}
	server.Close()
	_, err = repo.Tree(t.Context(), a.Descriptor, MaxBytes)
	if err == nil || errors.As(err, &content) {
		t.Errorf("no server: got %v", err)
	}
}
