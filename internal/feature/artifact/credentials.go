package artifact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
)

// Credentials are those of users of registries. They are in no error.
type Credentials struct {
	byAddress map[string]json.RawMessage // registries, or repositories or folders of them
}

// dockerHub has the names of one registry, of which the first is that of its server.
var dockerHub = []string{"registry-1.docker.io", "docker.io", "index.docker.io"}

// ParseCredentials reads credentials in the format of docker's configuration:
// {"auths":{"registry.example.com":{"auth":"…"}}}. Helpers that the text names are not run. No text
// has no credentials.
func ParseCredentials(config []byte) (*Credentials, error) {
	c := &Credentials{byAddress: map[string]json.RawMessage{}}
	if len(config) == 0 {
		return c, nil
	}
	var read struct {
		Auths map[string]json.RawMessage `json:"auths"`
	}
	// The errors of the libraries have parts of the text.
	if json.Unmarshal(config, &read) != nil {
		return nil, errors.New(`it is no configuration of docker, as in {"auths":{"HOST":{"auth":"…"}}}`)
	}
	for address, login := range read.Auths {
		if _, err := decodeLogin("host", login); err != nil {
			return nil, fmt.Errorf("the credentials of %q are none: auth has to be the base64 of "+
				"USER:PASSWORD", address)
		}
		c.byAddress[normalize(address)] = login
	}
	return c, nil
}

// decodeLogin returns the credential of a host from an entry of docker's configuration.
func decodeLogin(host string, login json.RawMessage) (auth.Credential, error) {
	text, err := json.Marshal(map[string]any{"auths": map[string]any{host: login}})
	if err != nil {
		return auth.EmptyCredential, err
	}
	store, err := credentials.NewMemoryStoreFromDockerConfig(text)
	if err != nil {
		return auth.EmptyCredential, err
	}
	return store.Get(context.Background(), host)
}

// normalize returns an address of docker's configuration as HOST or HOST/PATH.
func normalize(address string) string {
	_, rest, found := strings.Cut(address, "://")
	if !found {
		rest = address
	}
	rest = strings.TrimRight(rest, "/")
	host, path, _ := strings.Cut(rest, "/")
	if path == "v1" || path == "v2" { // the version of the protocol, which older files have
		path = ""
	}
	if path == "" {
		return server(host)
	}
	return server(host) + "/" + path
}

// server returns the host that has the contents of a registry.
func server(registry string) string {
	if slices.Contains(dockerHub, registry) {
		return dockerHub[0]
	}
	return registry
}

// of returns the credential of the longest address that a repository is in, for its host alone.
func (c *Credentials) of(r Reference) auth.CredentialFunc {
	host := server(r.Registry)
	var login json.RawMessage
	for address := host + "/" + r.Repository; address != "" && login == nil; {
		login = c.byAddress[address]
		address = address[:max(strings.LastIndex(address, "/"), 0)]
	}
	return func(_ context.Context, asking string) (auth.Credential, error) {
		if asking != host || login == nil {
			return auth.EmptyCredential, nil
		}
		return decodeLogin(host, login)
	}
}

// credential returns the function with the credentials for the registry of a reference.
func (a Access) credential(r Reference) (auth.CredentialFunc, error) {
	if a.Credentials != nil {
		return a.Credentials.of(r), nil
	}
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, fmt.Errorf("read docker's configuration, which has the credentials of registries: "+
			"%w", err)
	}
	return credentials.Credential(store), nil
}
