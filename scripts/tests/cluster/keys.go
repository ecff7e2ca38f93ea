package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// makeKeys writes the certificates of the control plane, the key of service accounts and the administrator's token.
func makeKeys(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	authority, authorityKey, err := certificate(folder, "ca", nil, nil)
	if err != nil {
		return err
	}
	for _, name := range []string{"server", "aggregator", "adapter"} {
		if _, _, err := certificate(folder, name, authority, authorityKey); err != nil {
			return err
		}
	}
	if _, err := key(folder, "accounts"); err != nil {
		return err
	}
	line := fmt.Sprintf("%s,administrator,1,\"system:masters\"\n", token)
	return os.WriteFile(filepath.Join(folder, "tokens.csv"), []byte(line), 0o600)
}

// key writes a private key as name.key.
func key(folder, name string) (*ecdsa.PrivateKey, error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	text, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		return nil, err
	}
	return k, write(folder, name+".key", "EC PRIVATE KEY", text)
}

// certificate writes name.crt and name.key, signed by the authority, or self-signed without one.
func certificate(folder, name string, authority *x509.Certificate, authorityKey *ecdsa.PrivateKey) (*x509.Certificate,
	*ecdsa.PrivateKey, error) {
	k, err := key(folder, name)
	if err != nil {
		return nil, nil, err
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses:  []net.IP{net.ParseIP("127.0.0.1"), net.ParseIP(gateway), net.ParseIP("10.96.0.1")},
		DNSNames:     []string{"localhost", "kubernetes", "kubernetes.default.svc"},

		BasicConstraintsValid: true,
		IsCA:                  authority == nil,
	}
	if authority == nil {
		authority = c
		authorityKey = k
	}
	der, err := x509.CreateCertificate(rand.Reader, c, authority, k.Public(), authorityKey)
	if err != nil {
		return nil, nil, err
	}
	if err := write(folder, name+".crt", "CERTIFICATE", der); err != nil {
		return nil, nil, err
	}
	parsed, err := x509.ParseCertificate(der)
	return parsed, k, err
}

func write(folder, name, kind string, der []byte) error {
	return os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
