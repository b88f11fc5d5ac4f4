package plane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"time"
)

// Names of the certificates of a plane. Each is a pair of files in the pki folder.
const (
	certAuthority     = "ca"
	certEtcd          = "etcd"
	certEtcdClient    = "apiserver-etcd-client"
	certAPIServer     = "apiserver"
	certKubeletClient = "apiserver-kubelet-client"
	certControllers   = "kube-controller-manager"
	certScheduler     = "kube-scheduler"
	certKubelet       = "kubelet"
	certKwok          = "kwok"
	certAdmin         = "admin"
	keyServiceAccount = "service-account"
)

// KubeletClientName is the common name with which the API server presents itself to a kubelet.
const KubeletClientName = "kube-apiserver-kubelet-client"

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 365 * 24 * time.Hour
	renewBefore   = 30 * 24 * time.Hour
)

// leaf says what one certificate is for. A leaf with hosts serves, and every leaf may be used by a
// client.
type leaf struct {
	name   string // of its files
	user   string
	groups []string
	hosts  []string // names and addresses
}

func loopback(more ...string) []string {
	return append([]string{"127.0.0.1", "localhost"}, more...)
}

// leaves lists the certificates of a plane. Components that act for many users or for kubelets are
// administrators: the plane guards its users from mistakes of theirs, not from its own components.
func leaves() []leaf {
	masters := []string{"system:masters"}
	return []leaf{
		{name: certEtcd, user: "etcd", hosts: loopback()},
		{name: certEtcdClient, user: "kube-apiserver-etcd-client"},
		{name: certAPIServer, user: "kube-apiserver", hosts: loopback("kubernetes", "kubernetes.default",
			"kubernetes.default.svc", "kubernetes.default.svc.cluster.local", serviceIP)},
		{name: certKubeletClient, user: KubeletClientName},
		{
			name:   certControllers,
			user:   "system:kube-controller-manager",
			groups: masters,
			hosts:  loopback(),
		},
		{name: certScheduler, user: "system:kube-scheduler", groups: masters, hosts: loopback()},
		{name: certKubelet, user: "muster-kubelet", hosts: loopback()},
		{name: certKwok, user: "muster-kwok", groups: masters},
		{name: certAdmin, user: "muster-admin", groups: masters},
	}
}

// ensureCerts makes what is missing or about to expire, and does not change the rest: data that
// etcd kept stays valid.
func ensureCerts(p paths, now time.Time) error {
	ca, err := ensureAuthority(p, now)
	if err != nil {
		return fmt.Errorf("certificate authority: %w", err)
	}
	for _, l := range leaves() {
		if _, err := readPair(p, l.name, now); err == nil {
			continue
		}
		if err := issue(p, ca, l, now); err != nil {
			return fmt.Errorf("certificate %s: %w", l.name, err)
		}
	}
	if err := ensureKey(p.key(keyServiceAccount)); err != nil {
		return fmt.Errorf("service account key: %w", err)
	}
	return nil
}

// pair is a certificate and its key.
type pair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// ensureAuthority reads the plane's authority, or makes one when there is none. An authority that
// cannot be read or is about to expire is an error, since everything that it signed hangs on it.
func ensureAuthority(p paths, now time.Time) (*pair, error) {
	ca, err := readPair(p, certAuthority, now)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return ca, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template, err := certTemplate(pkix.Name{CommonName: "muster-local"}, now, authorityLife)
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature
	return store(p, certAuthority, template, &pair{cert: template, key: key}, key)
}

func issue(p paths, ca *pair, l leaf, now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template, err := certTemplate(pkix.Name{CommonName: l.user, Organization: l.groups}, now, leafLife)
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(l.hosts) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, host := range l.hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	_, err = store(p, l.name, template, ca, key)
	return err
}

func certTemplate(subject pkix.Name, now time.Time, life time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-time.Hour), // A clock that is set back a little must not break the plane.
		NotAfter:     now.Add(life),
	}, nil
}

// store signs a certificate for key and writes both files.
func store(
	p paths,
	name string,
	template *x509.Certificate,
	ca *pair,
	key *ecdsa.PrivateKey,
) (*pair, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, key.Public(), ca.key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	if err := writeKey(p.key(name), key); err != nil {
		return nil, err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := write(p.cert(name), block); err != nil {
		return nil, err
	}
	return &pair{cert: cert, key: key}, nil
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return write(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

func ensureKey(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return writeKey(path, key)
}

// readPair reads a certificate and its key; one that soon expires is an error.
func readPair(p paths, name string, now time.Time) (*pair, error) {
	cert, err := readPEM(p.cert(name), x509.ParseCertificate)
	if err != nil {
		return nil, err
	}
	key, err := readPEM(p.key(name), x509.ParseECPrivateKey)
	if err != nil {
		return nil, err
	}
	if now.Add(renewBefore).After(cert.NotAfter) {
		return nil, fmt.Errorf("%s expires on %s", p.cert(name), cert.NotAfter.Format(time.DateOnly))
	}
	if !key.PublicKey.Equal(cert.PublicKey) {
		return nil, fmt.Errorf("%s does not belong to %s", p.key(name), p.cert(name))
	}
	return &pair{cert: cert, key: key}, nil
}

func readPEM[T any](path string, parse func([]byte) (T, error)) (T, error) {
	var none T
	data, err := os.ReadFile(path)
	if err != nil {
		return none, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return none, fmt.Errorf("%s holds no PEM block", path)
	}
	out, err := parse(block.Bytes)
	if err != nil {
		return none, fmt.Errorf("parse %s: %w", path, err)
	}
	return out, nil
}
