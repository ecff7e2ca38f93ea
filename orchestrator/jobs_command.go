package main

import (
	"fmt"
	"net/http"
	"text/tabwriter"
	"time"

	"retort/orchestrator/client"
	"retort/orchestrator/command"
	"retort/orchestrator/telemetry"
)

// jobsCommand is retort jobs, a client of a running gateway.
type jobsCommand struct {
	List   listJobsCommand  `cmd:"" help:"List batches and searches, newest first: a table on a terminal, elsewhere a line of JSON each."`
	Show   showJobCommand   `cmd:"" help:"Print one as JSON."`
	Cancel cancelJobCommand `cmd:"" help:"End one with what it has so far, and print it as JSON."`
}

// jobsOf asks the gateway that a command line names.
func jobsOf(r command.Remote) (*client.Jobs, error) {
	key, err := r.Secret()
	return &client.Jobs{URL: r.URL, Key: key, HTTP: &http.Client{Timeout: time.Minute}}, err
}

type listJobsCommand struct {
	command.Remote `embed:"" group:"Service"`

	Limit  int    `default:"100" env:"-" help:"Most jobs to list."`
	Format string `short:"f" enum:"auto,table,jsonl" default:"auto" env:"-" help:"table or jsonl; auto is table on a terminal, and jsonl elsewhere."`
	JSON   bool   `name:"json" env:"-" help:"The same as --format jsonl."`
}

func (c listJobsCommand) Run(env *environment) error {
	service, err := jobsOf(c.Remote)
	if err != nil {
		return err
	}
	all, err := service.List(env.ctx, max(1, c.Limit))
	if err != nil {
		return err
	}
	if c.JSON || c.Format == "jsonl" || c.Format == "auto" && !telemetry.Terminal(env.stdout) {
		for _, one := range all {
			if _, err := fmt.Fprintf(env.stdout, "%s\n", one.Raw); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(env.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tKIND\tSTATUS\tPROGRESS\tCREATED")
	for _, one := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", one.ID, one.Kind, one.Status, one.Progress,
			time.Unix(one.CreatedAt, 0).Format(time.DateTime))
	}
	return table.Flush()
}

type showJobCommand struct {
	command.Remote `embed:"" group:"Service"`

	ID string `arg:"" help:"Id of the job."`
}

func (c showJobCommand) Run(env *environment) error {
	service, err := jobsOf(c.Remote)
	if err != nil {
		return err
	}
	one, err := service.Show(env.ctx, c.ID)
	return printJob(env, one, err)
}

type cancelJobCommand struct {
	command.Remote `embed:"" group:"Service"`

	ID string `arg:"" help:"Id of the job."`
}

func (c cancelJobCommand) Run(env *environment) error {
	service, err := jobsOf(c.Remote)
	if err != nil {
		return err
	}
	one, err := service.Cancel(env.ctx, c.ID)
	return printJob(env, one, err)
}

func printJob(env *environment, one client.Job, err error) error {
	if err == nil {
		_, err = fmt.Fprintf(env.stdout, "%s\n", one.Raw)
	}
	return err
}
