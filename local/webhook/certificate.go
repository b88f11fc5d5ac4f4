package webhook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// newCertificate makes an authority, which it returns as PEM, and a certificate of it for 127.0.0.1
// and some names.
func newCertificate(names []string) (string, tls.Certificate, error) {
	authority, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", tls.Certificate{}, err
	}
	parent := template("authority of a webhook")
	parent.IsCA, parent.BasicConstraintsValid = true, true
	parent.KeyUsage = x509.KeyUsageCertSign
	root, err := x509.CreateCertificate(rand.Reader, parent, parent, &authority.PublicKey, authority)
	if err != nil {
		return "", tls.Certificate{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", tls.Certificate{}, err
	}
	leaf := template("webhook")
	leaf.DNSNames, leaf.IPAddresses = names, []net.IP{net.IPv4(127, 0, 0, 1)}
	leaf.KeyUsage = x509.KeyUsageDigitalSignature
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	raw, err := x509.CreateCertificate(rand.Reader, leaf, parent, &key.PublicKey, authority)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root})
	return string(text), tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, err
}

// template returns a certificate that is valid now.
func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
}
