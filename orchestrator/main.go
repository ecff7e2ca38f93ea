// Retort serves five documented inference APIs in front of a Triton Inference Server. Package main wires the rooms
// together; nothing imports it.
//
// Terms:
//   - API: one documented API, an entry of services, with a gateway of its own.
//   - main port: the port that serves every API under its name, and the web page.
//   - drain: the orderly end after SIGTERM.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"retort/orchestrator/command"
	"retort/orchestrator/settings"
)

// version can be set by the linker: -X main.version=….
var version = "1.0.0"

// commit is set by the linker in releases: -X main.commit=…. For other builds see commitOf.
var commit string

const description = "Retort serves five inference APIs for molecules, texts and images " +
	"in front of a Triton Inference Server. " +
	"Without a command it serves the APIs; retort serve --help lists the settings. " +
	"Most other commands call a running service, at http://127.0.0.1:8000 unless --url or RETORT_URL names another. " +
	"retort COMMAND --help describes each command."

// commandLine is the command line. Commands that read Config are in this package, all others in package command.
type commandLine struct {
	Config `embed:""`

	command.Commands `embed:""`

	Serve       serveCommand       `cmd:"" default:"withargs" help:"Serve the APIs (the default)."`
	Model       command.Model      `cmd:"" help:"Add entries to the model repository, list, check and remove them."`
	Jobs        command.Jobs       `cmd:"" help:"Batches and searches that outlast a request."`
	Version     versionCommand     `cmd:"" help:"Print version, commit and Go version, and the SHA-256 of each entry of --model-repository."`
	CheckConfig checkConfigCommand `cmd:"" help:"Check the settings and print them."`
	Healthcheck healthcheckCommand `cmd:"" help:"Exit with 0 if the gateway on this machine is ready; for container probes."`

	Completion kongcompletion.Completion `cmd:"" help:"Print the completion script for bash, zsh or fish."`
	Man        command.Man               `cmd:"" help:"Print the manual page of a command, or write the pages of all commands."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "retort:", err)
		os.Exit(command.ExitCode(err))
	}
}

// run runs a command line. serve returns once ctx is done and the requests have drained.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	var line commandLine
	parser, err := newParser(&line)
	if err != nil {
		return err
	}
	exited := false
	parser.Exit = func(int) { exited = true }
	parser.Stdout = stdout
	kongcompletion.Register(parser)
	if exited { // a shell asked for completions
		return nil
	}
	parsed, err := parser.Parse(args)
	if exited { // --help
		return nil
	}
	if err != nil {
		return err
	}
	process := &command.Process{Context: ctx, Stdin: os.Stdin, Stdout: stdout, Stderr: os.Stderr}
	repository := command.Repository{
		Folder:  line.Config.ModelRepository,
		Openers: entryOpeners,
		Triton:  line.Config.triton(),
	}
	return parsed.Run(process, &line.Config, repository)
}

func newParser(line *commandLine) (*kong.Kong, error) {
	return kong.New(line,
		kong.Name("retort"),
		kong.Description(description),
		kong.UsageOnError(),
		kong.DefaultEnvars("RETORT"),
		kong.Configuration(settings.YAML),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
		kong.Help(command.PrintHelp),
	)
}
