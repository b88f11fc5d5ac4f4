package cli

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/muster-deploy/muster/internal/cluster"
)

// User returns the name of the user as the API server knows it, empty if that cannot be found out.
// Only if the credentials do not show the name it sends a request.
func (k *Kube) User(ctx context.Context, c cluster.Reader) string {
	config, err := k.config().ClientConfig()
	if err != nil {
		return ""
	}
	if name := userOf(config); name != "" {
		return name
	}
	name, err := c.User(ctx)
	if err != nil {
		return ""
	}
	return name
}

// userOf returns the name that credentials show: of an impersonated user, of a client certificate,
// or of the token of a service account.
func userOf(config *rest.Config) string {
	if config.Impersonate.UserName != "" {
		return config.Impersonate.UserName
	}
	certificate, token := config.CertData, config.BearerToken
	if len(certificate) == 0 && config.CertFile != "" {
		certificate, _ = os.ReadFile(config.CertFile) // a file that cannot be read shows no name
	}
	if block, _ := pem.Decode(certificate); block != nil {
		if parsed, err := x509.ParseCertificate(block.Bytes); err == nil {
			return parsed.Subject.CommonName
		}
	}
	if config.BearerTokenFile != "" {
		text, _ := os.ReadFile(config.BearerTokenFile)
		token = strings.TrimSpace(string(text))
	}
	return serviceAccountOf(token)
}

// serviceAccountOf returns the service account that a token belongs to; empty for other tokens,
// whose names only the server knows.
func serviceAccountOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		Subject string `json:"sub"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil ||
		!strings.HasPrefix(claims.Subject, "system:serviceaccount:") {
		return ""
	}
	return claims.Subject
}
