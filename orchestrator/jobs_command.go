package main

import (
	"fmt"
	"net/http"
	"text/tabwriter"
	"time"

	"retort/orchestrator/client"
	"retort/orchestrator/telemetry"
)

// jobsCommand is retort jobs, a client of a running gateway.
type jobsCommand struct {
	List   listJobsCommand  `cmd:"" help:"List batches and searches, newest first: a table on a terminal, elsewhere a line of JSON each."`
	Show   showJobCommand   `cmd:"" help:"Print one as JSON."`
	Cancel cancelJobCommand `cmd:"" help:"End one with what it has so far, and print it as JSON."`
}

// remote is where the gateway is.
type remote struct {
	URL string `name:"url" env:"RETORT_URL" default:"http://127.0.0.1:8000" help:"Main port of the gateway."`
	Key string `name:"api-key" env:"RETORT_API_KEY" placeholder:"KEY" help:"Key, where the gateway asks for one; better in the environment than on the command line."`
}

func (r remote) jobs() *client.Jobs {
	return &client.Jobs{URL: r.URL, Key: r.Key, HTTP: &http.Client{Timeout: time.Minute}}
}

type listJobsCommand struct {
	remote `embed:""`

	Limit int  `default:"100" env:"-" help:"Most jobs to list."`
	JSON  bool `name:"json" env:"-" help:"Lines of JSON on a terminal too."`
}

func (c listJobsCommand) Run(env *environment) error {
	all, err := c.jobs().List(env.ctx, max(1, c.Limit))
	if err != nil {
		return err
	}
	if c.JSON || !telemetry.Terminal(env.stdout) {
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
	remote `embed:""`

	ID string `arg:"" help:"Id of the job."`
}

func (c showJobCommand) Run(env *environment) error {
	one, err := c.jobs().Show(env.ctx, c.ID)
	return printJob(env, one, err)
}

type cancelJobCommand struct {
	remote `embed:""`

	ID string `arg:"" help:"Id of the job."`
}

func (c cancelJobCommand) Run(env *environment) error {
	one, err := c.jobs().Cancel(env.ctx, c.ID)
	return printJob(env, one, err)
}

func printJob(env *environment, one client.Job, err error) error {
	if err == nil {
		_, err = fmt.Fprintf(env.stdout, "%s\n", one.Raw)
	}
	return err
}
