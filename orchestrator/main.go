// Retort: five documented inference APIs in front of a Triton Inference Server. This package is the one place that
// knows every room.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"retort/orchestrator/command"
	"retort/orchestrator/gateway"
	"retort/orchestrator/triton"
)

// version is set by the linker: -X main.version=….
var version = "0.1.0"

// commands is the command line.
type commands struct {
	Config `embed:""`

	command.Commands `embed:""`

	Serve       serveCommand       `cmd:"" default:"withargs" help:"Serve the APIs (the default)."`
	Model       modelCommand       `cmd:"" help:"Work on the model repository."`
	Jobs        jobsCommand        `cmd:"" help:"Batches and searches that a running retort keeps."`
	Version     versionCommand     `cmd:"" help:"Print the version."`
	CheckConfig checkConfigCommand `cmd:"" help:"Check the settings and print them."`
	Healthcheck healthcheckCommand `cmd:"" help:"Exit 0 if a running retort is ready, for container probes."`

	Completion kongcompletion.Completion `cmd:"" help:"Completion for bash, zsh or fish."`
	Man        manCommand                `cmd:"" help:"Print the manual page of a command, or write those of all."`
}

// environment is what a command sees of the process.
type environment struct {
	ctx    context.Context
	stdout io.Writer
	config *Config
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "retort:", err)
		os.Exit(command.ExitCode(err))
	}
}

// run is the whole program: it returns when the command is done or, for serve, after ctx has ended and all requests
// have drained.
func run(ctx context.Context, args []string, stdout io.Writer) (err error) {
	var cli commands
	parser, err := newParser(&cli)
	if err != nil {
		return err
	}
	done := false
	parser.Exit = func(int) { done = true }
	parser.Stdout = stdout
	kongcompletion.Register(parser) // answers a shell that asks what may come next
	if done {
		return nil
	}
	parsed, err := parser.Parse(args)
	if done { // --help
		return nil
	}
	if err != nil {
		return err
	}
	return parsed.Run(&environment{ctx: ctx, stdout: stdout, config: &cli.Config},
		&command.Process{Context: ctx, Stdin: os.Stdin, Stdout: stdout, Stderr: os.Stderr})
}

func newParser(cli *commands) (*kong.Kong, error) {
	return kong.New(cli,
		kong.Name("retort"),
		kong.Description(description),
		kong.UsageOnError(),
		kong.DefaultEnvars("RETORT"),
		kong.Configuration(yamlSettings),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
		kong.Help(help),
	)
}

type versionCommand struct{}

func (versionCommand) Run(env *environment) error {
	goVersion := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		goVersion = info.GoVersion
	}
	_, err := fmt.Fprintf(env.stdout, "retort %s (%s)\n", version, goVersion)
	return err
}

type checkConfigCommand struct{}

func (checkConfigCommand) Run(env *environment) error {
	if err := env.config.open(); err != nil {
		return err
	}
	text, err := env.config.yaml()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.stdout, "# settings are valid\n%s", text)
	return err
}

// open reads the files that settings name, as serve does.
func (c *Config) open() error {
	if _, err := c.keys(); err != nil {
		return err
	}
	if c.TLSCert != "" {
		if _, err := readKeyPair(c.TLSCert, c.TLSKey); err != nil {
			return err
		}
	}
	client, err := triton.Dial(c.triton()) // connects with the first call, of which there is none
	if err != nil {
		return err
	}
	client.Close()
	return nil
}

// keys are those that clients must send one of; nil where none is asked for.
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

type healthcheckCommand struct {
	API string `name:"api" placeholder:"NAME" help:"Ask one API (embedding, …); by default the process."`
}

func (h healthcheckCommand) Run(env *environment) error {
	path := "/v1/health/live"
	if h.API != "" {
		path = "/" + h.API + "/v1/health/ready"
	}
	scheme := "http"
	if env.config.TLSCert != "" {
		scheme = "https"
	}
	host := env.config.Host
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(env.ctx, 5*time.Second)
	defer cancel()
	url := scheme + "://" + net.JoinHostPort(host, strconv.Itoa(env.config.Port)) + path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := localClient().Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return errors.New("not ready: " + res.Status)
	}
	_, err = fmt.Fprintln(env.stdout, "ready")
	return err
}

// localClient asks this very program, whose certificate is for another name.
func localClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // loopback probe
	}}
}
