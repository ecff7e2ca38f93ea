package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// writeKeyPair writes a certificate for 127.0.0.1 and returns its files and a pool that trusts it.
func writeKeyPair(t *testing.T, folder string, serial int64) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	for file, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(parsed)
	return cert, key, pool
}

func TestTLS(t *testing.T) {
	folder := t.TempDir()
	cert, key, pool := writeKeyPair(t, folder, 1)
	old := http.DefaultTransport.(*http.Transport).TLSClientConfig
	http.DefaultTransport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: pool}
	t.Cleanup(func() { http.DefaultTransport.(*http.Transport).TLSClientConfig = old })
	secure = true
	t.Cleanup(func() { secure = false })
	p := start(t, "--tls-cert="+cert, "--tls-key="+key)
	p.embed([]string{"a"}, "float")
	if res, err := http.Get(strings.Replace(p.ports["embedding"], "https", "http", 1) + "/v1/models"); err == nil {
		res.Body.Close()
		if res.StatusCode == 200 {
			t.Error("the port answers without TLS")
		}
	}
	// The health check does not verify the name in the certificate.
	if err := run(t.Context(), []string{
		"healthcheck", "--api=embedding", "--host=127.0.0.1", "--port=" + port(p.ports["main"]), "--tls-cert=" + cert, "--tls-key=" + key,
	}, io.Discard); err != nil {
		t.Error(err)
	}

	_, _, renewed := writeKeyPair(t, folder, 2)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: renewed}, DisableKeepAlives: true,
	}}
	p.eventually("the renewed certificate is used", func() bool {
		res, err := client.Get(p.ports["embedding"] + "/v1/health/live")
		if err != nil {
			return false
		}
		res.Body.Close()
		return true
	})
}

func port(url string) string { return url[strings.LastIndexByte(url, ':')+1:] }

func TestHealthcheck(t *testing.T) {
	p := start(t)
	at := []string{"--host=127.0.0.1", "--port=" + port(p.ports["main"])}
	for _, test := range []struct {
		args  []string
		ready bool
	}{
		{nil, true},
		{[]string{"--api=embedding"}, true},
		{[]string{"--api=ranking"}, false},
		{[]string{"--port=1"}, false},
	} {
		var out bytes.Buffer
		err := run(t.Context(), append(append([]string{"healthcheck"}, at...), test.args...), &out)
		if (err == nil) != test.ready {
			t.Errorf("healthcheck %v: %v %s", test.args, err, out.String())
		}
	}
}

func TestKeysOpenEveryAPI(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("alpha\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "--keys-file="+file)
	for _, path := range []string{"/health", "/ping"} {
		if status, text := p.get("embedding", path); status == 401 {
			t.Errorf("%s needs a key: %s", path, text)
		}
	}
	for _, path := range []string{"/v1/models", "/docs", "/openapi.json", "/info"} {
		if status, text := p.get("embedding", path); status != 401 || !strings.Contains(text, "error") {
			t.Errorf("%s without a key: %d %s", path, status, text)
		}
	}
	req, _ := http.NewRequest("GET", p.ports["main"]+"/embedding/v1/models", nil)
	req.Header.Set("Authorization", "Bearer alpha")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 200 {
		t.Errorf("with the key: %d", res.StatusCode)
	}
}

func TestCORSOnlyIfSet(t *testing.T) {
	preflight := func(p *program) (allowed string) {
		req, _ := http.NewRequest("OPTIONS", p.ports["embedding"]+"/v1/embeddings", nil)
		req.Header.Set("Origin", "https://lab.example")
		req.Header.Set("Access-Control-Request-Method", "POST")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.Header.Get("Access-Control-Allow-Origin")
	}
	if got := preflight(start(t)); got != "" {
		t.Errorf("CORS without the setting: %q", got)
	}
	if got := preflight(start(t, "--cors-origins=https://lab.example")); got != "https://lab.example" {
		t.Errorf("CORS with the setting: %q", got)
	}
}

// TestTraces runs a collector, and follows a caller's trace through the gateway to Triton.
func TestTraces(t *testing.T) {
	var mu sync.Mutex
	var spans []byte
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		spans = append(spans, body...)
		mu.Unlock()
	}))
	defer collector.Close()
	p := start(t, "--otlp-endpoint="+collector.URL+"/v1/traces", "--otlp-protocol=http/protobuf",
		"--service-name=retort-test")
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	req, _ := http.NewRequest("POST", p.ports["embedding"]+"/v1/embeddings",
		strings.NewReader(`{"model":"sentence-transformers/all-MiniLM-L6-v2","input":"a"}`))
	req.Header.Set("traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	want := []byte("\x4b\xf9\x2f\x35\x77\xb3\x4d\xa6\xa3\xce\x92\x9d\x0e\x0e\x47\x36")
	p.eventually("the spans arrive", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return bytes.Count(spans, want) >= 2 && bytes.Contains(spans, []byte("retort-test"))
	})
	if got, _ := traced.Load().(string); !strings.Contains(got, trace) {
		t.Errorf("Triton received traceparent %q", got)
	}
}
