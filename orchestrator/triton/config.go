package triton

import (
	"cmp"
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

// Config configures a Client. Zero values mean defaults, which suit a server on the same machine or in the same
// cluster. URLs has no default.
type Config struct {
	// URLs are the replicas: "host:port", "grpc://host:port", "grpcs://host:port" (TLS), or "dns:///name:port" for
	// every address of the name, which is looked up every ResolveEvery.
	URLs []string
	// TLS applies to grpcs:// URLs and, if TLS.Enabled, to all others.
	TLS TLS
	// MaxMessageBytes is the upper bound on a message in either direction. Default 256 MiB, since a batch of embeddings
	// can exceed gRPC's default of 4 MiB.
	MaxMessageBytes int
	// ProbeEvery is the interval between probes of a replica. Default 1 s.
	ProbeEvery time.Duration
	// ProbeTimeout is how long a probe may take. Default 2 s.
	ProbeTimeout time.Duration
	// ResolveEvery is the interval between lookups of dns:/// names. Default 5 s.
	ResolveEvery time.Duration
	// Logger logs changes of replicas and of the health of models. The zero Logger is silent.
	Logger zerolog.Logger
}

// TLS configures encrypted connections. Files are in PEM.
type TLS struct {
	Enabled bool
	// CA is a file of trusted authorities. Default: those of the system.
	CA string
	// Cert and Key are the files of the client's certificate, if Triton requires one.
	Cert, Key string
	// ServerName is the name in the server's certificate. Default: the host of the URL.
	ServerName string
}

func (c Config) withDefaults() Config {
	c.MaxMessageBytes = cmp.Or(c.MaxMessageBytes, 256<<20)
	c.ProbeEvery = cmp.Or(c.ProbeEvery, time.Second)
	c.ProbeTimeout = cmp.Or(c.ProbeTimeout, 2*time.Second)
	c.ResolveEvery = cmp.Or(c.ResolveEvery, 5*time.Second)
	return c
}

// Validate returns an error for the first invalid setting.
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

// target is a parsed URL.
type target struct {
	host, port string
	tls, dns   bool
}

func parse(url string) (target, error) {
	var t target
	hostPort := url
	if name, ok := strings.CutPrefix(url, "dns:///"); ok {
		t.dns = true
		hostPort = name
	} else if scheme, address, ok := strings.Cut(url, "://"); ok {
		if scheme != "grpc" && scheme != "grpcs" {
			return t, fmt.Errorf("Triton address %q: unknown scheme %q (known: grpc, grpcs, dns:///name:port)",
				url, scheme)
		}
		t.tls = scheme == "grpcs"
		hostPort = address
	}
	var err error
	t.host, t.port, err = net.SplitHostPort(strings.TrimSuffix(hostPort, "/"))
	if err != nil || t.host == "" || t.port == "" {
		return t, fmt.Errorf("Triton address %q is not host:port", url)
	}
	if strings.ContainsFunc(url, unicode.IsSpace) {
		return t, fmt.Errorf("Triton address %q contains a space", url)
	}
	if port, err := strconv.ParseUint(t.port, 10, 16); err != nil || port == 0 {
		return t, fmt.Errorf("Triton address %q: %q is not a port from 1 to 65535", url, t.port)
	}
	return t, nil
}

// credentials returns the credentials of encrypted connections.
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
