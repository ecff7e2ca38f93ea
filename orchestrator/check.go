package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/alecthomas/kong"

	"retort/orchestrator/command"
	"retort/orchestrator/filewatch"
	"retort/orchestrator/gateway"
	"retort/orchestrator/settings"
	"retort/orchestrator/triton"
)

type checkConfigCommand struct{}

// Run checks the settings as serve does, and prints them.
func (checkConfigCommand) Run(p *command.Process, config *Config, parsed *kong.Context) error {
	if _, err := config.keys(); err != nil {
		return err
	}
	if _, err := config.certificate(); err != nil {
		return err
	}
	client, err := triton.Dial(config.triton()) // connects with the first call, and none is made
	if err != nil {
		return err
	}
	client.Close()
	text, err := settings.Format(parsed.Model)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "# settings are valid\n%s", text)
	return err
}

// keys reads the keys of clients; nil if no key is required.
func (c *Config) keys() (*gateway.Keys, error) {
	if c.KeysFile == "" {
		return nil, nil
	}
	keys, err := gateway.ReadKeys(c.KeysFile)
	if err != nil {
		return nil, fmt.Errorf("keys-file: %w", err)
	}
	return keys, nil
}

// certificate reads the certificate of the ports and its key; nil if they do not use TLS.
func (c *Config) certificate() (*filewatch.Value[tls.Certificate], error) {
	if c.TLSCert == "" {
		return nil, nil
	}
	return filewatch.Read(func() (tls.Certificate, error) { return tls.LoadX509KeyPair(c.TLSCert, c.TLSKey) })
}

type healthcheckCommand struct {
	API string `name:"api" placeholder:"NAME" help:"Check one API (embedding, …); by default the process."`
}

// healthcheckTimeout bounds a health check.
const healthcheckTimeout = 5 * time.Second

// Run calls the gateway that runs with these settings on this machine.
func (h healthcheckCommand) Run(p *command.Process, config *Config) error {
	path := "/v1/health/live"
	if h.API != "" {
		path = "/" + h.API + "/v1/health/ready"
	}
	scheme := "http"
	if config.TLSCert != "" {
		scheme = "https"
	}
	host := config.Host
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(p.Context, healthcheckTimeout)
	defer cancel()
	url := scheme + "://" + net.JoinHostPort(host, strconv.Itoa(config.Port)) + path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the certificate is for another name
	}}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return errors.New("not ready: " + res.Status)
	}
	_, err = fmt.Fprintln(p.Stdout, "ready")
	return err
}
