package triton

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rs/zerolog"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Config says where Triton is. The zero value of every field but URLs is a default that suits a server on the same
// machine or in the same cluster.
type Config struct {
	// URLs are the replicas: "host:port", "grpc://host:port", "grpcs://host:port" (TLS), or "dns:///name:port", which
	// stands for every address of the name and is looked up again and again. They may be mixed.
	URLs []string
	// TLS applies to grpcs:// always and to the others when TLS.Enabled.
	TLS TLS
	// MaxMessageBytes bounds a message in either direction. Default 256 MiB; gRPC's own would be 4 MiB, which one batch
	// of embeddings can exceed.
	MaxMessageBytes int
	// ProbeEvery is how often each replica is asked whether it lives. Default 1 s.
	ProbeEvery time.Duration
	// ProbeTimeout is how long it may take to answer. Default 2 s.
	ProbeTimeout time.Duration
	// ResolveEvery is how often dns:/// names are looked up. Default 5 s.
	ResolveEvery time.Duration
	// Logger gets a line when a replica comes or goes. The zero Logger is silent.
	Logger zerolog.Logger
}

// TLS are the files of an encrypted connection, in PEM.
type TLS struct {
	Enabled bool
	// CA holds the authorities to trust; empty means those of the system.
	CA string
	// Cert and Key are our own certificate, when Triton asks for one.
	Cert, Key string
	// ServerName is what the server's certificate must be for, when that is not the host of the URL.
	ServerName string
}

func (c Config) withDefaults() Config {
	setDefault(&c.MaxMessageBytes, 256<<20)
	setDefault(&c.ProbeEvery, time.Second)
	setDefault(&c.ProbeTimeout, 2*time.Second)
	setDefault(&c.ResolveEvery, 5*time.Second)
	return c
}

func setDefault[T int | float64 | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	if len(c.URLs) == 0 {
		return fmt.Errorf("no Triton address is given")
	}
	for _, url := range c.URLs {
		if _, err := parse(url); err != nil {
			return err
		}
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		return fmt.Errorf("a TLS certificate and its key must be given together")
	}
	_, err := c.TLS.credentials()
	return err
}

// target is one URL, taken apart.
type target struct {
	host, port string
	tls, dns   bool
}

func parse(url string) (target, error) {
	var t target
	rest := url
	if name, ok := strings.CutPrefix(url, "dns:///"); ok {
		t.dns, rest = true, name
	} else if scheme, address, ok := strings.Cut(url, "://"); ok {
		if scheme != "grpc" && scheme != "grpcs" {
			return t, fmt.Errorf("Triton address %q: unknown scheme %q (known: grpc, grpcs, dns:///name:port)", url, scheme)
		}
		t.tls, rest = scheme == "grpcs", address
	}
	var err error
	if t.host, t.port, err = net.SplitHostPort(strings.TrimSuffix(rest, "/")); err != nil || t.host == "" || t.port == "" {
		return t, fmt.Errorf("Triton address %q is not host:port", url)
	}
	if strings.ContainsFunc(url, unicode.IsSpace) {
		return t, fmt.Errorf("Triton address %q holds a space", url)
	}
	if port, err := strconv.ParseUint(t.port, 10, 16); err != nil || port == 0 {
		return t, fmt.Errorf("Triton address %q: %q is no port from 1 to 65535", url, t.port)
	}
	return t, nil
}

// credentials returns what Enabled connections use.
func (t TLS) credentials() (credentials.TransportCredentials, error) {
	config := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("TLS authorities: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("TLS authorities: no certificate in %s", t.CA)
		}
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("TLS certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(config), nil
}

// security returns the credentials for one target.
func (c Config) security(t target) (credentials.TransportCredentials, error) {
	if !t.tls && !c.TLS.Enabled {
		return insecure.NewCredentials(), nil
	}
	tls := c.TLS
	if tls.ServerName == "" {
		tls.ServerName = t.host // for dns:/// the name, not the address it stands for
	}
	return tls.credentials()
}
