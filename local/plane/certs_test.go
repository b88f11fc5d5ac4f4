package plane

import (
	"bytes"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func newPaths(t *testing.T) paths {
	t.Helper()
	p := paths(t.TempDir())
	if err := p.make(); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCertificates(t *testing.T) {
	p, now := newPaths(t), time.Now()
	if err := ensureCerts(p, now); err != nil {
		t.Fatal(err)
	}
	ca, err := readPair(p, certAuthority, now)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	for _, l := range leaves() {
		got, err := readPair(p, l.name, now)
		if err != nil {
			t.Fatal(err)
		}
		if got.cert.Subject.CommonName != l.user || len(got.cert.Subject.Organization) != len(l.groups) {
			t.Errorf("%s is for %v", l.name, got.cert.Subject)
		}
		client := x509.VerifyOptions{
			Roots:     roots,
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}
		if _, err := got.cert.Verify(client); err != nil {
			t.Errorf("%s as a client: %v", l.name, err)
		}
		for _, host := range l.hosts {
			if _, err := got.cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
				t.Errorf("%s serving %s: %v", l.name, host, err)
			}
		}
	}
	if _, err := os.Stat(p.key(keyServiceAccount)); err != nil {
		t.Error(err)
	}
}

func TestCertificatesAreKeptAndRenewed(t *testing.T) {
	p, now := newPaths(t), time.Now()
	read := func(name string) []byte {
		t.Helper()
		data, err := os.ReadFile(p.cert(name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	ensure := func(at time.Time) {
		t.Helper()
		if err := ensureCerts(p, at); err != nil {
			t.Fatal(err)
		}
	}
	ensure(now)
	ca, admin := read(certAuthority), read(certAdmin)
	ensure(now.Add(time.Hour))
	if !bytes.Equal(admin, read(certAdmin)) {
		t.Error("a valid certificate was renewed")
	}
	ensure(now.Add(leafLife - time.Hour))
	if bytes.Equal(admin, read(certAdmin)) {
		t.Error("a certificate that is about to expire was not renewed")
	}
	if !bytes.Equal(ca, read(certAuthority)) {
		t.Error("the authority was renewed")
	}
	if err := ensureCerts(p, now.Add(authorityLife)); err == nil {
		t.Error("an authority that is about to expire is no error")
	}
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	p := newPaths(t)
	if err := ensureCerts(p, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := writeKubeconfigs(p, "https://127.0.0.1:1", 0); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(string(p), func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
