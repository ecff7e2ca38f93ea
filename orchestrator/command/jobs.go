package command

import (
	"fmt"
	"text/tabwriter"
	"time"

	"retort/orchestrator/client"
)

// Jobs is retort jobs.
type Jobs struct {
	List   listJobs  `cmd:"" help:"List batches and searches, newest first."`
	Show   showJob   `cmd:"" help:"Print a job as JSON."`
	Cancel cancelJob `cmd:"" help:"Cancel a job; it keeps its results so far."`

	Start     startJob     `cmd:"" help:"Start a search as a job, and print it as JSON."`
	Ask       askJob       `cmd:"" help:"Write the molecules that wait for a score, as CSV."`
	Tell      tellJob      `cmd:"" help:"Hand in scores of such molecules from a CSV file."`
	Evaluated evaluatedJob `cmd:"" help:"Write all evaluated molecules with their scores."`
}

type listJobs struct {
	remoteFlags `embed:"" group:"Service"`

	Limit  int    `default:"100" env:"-" help:"Most jobs to list."`
	Format string `short:"f" enum:"auto,table,jsonl" default:"auto" env:"-" help:"table or jsonl; auto is table on a terminal and jsonl elsewhere."`
	JSON   bool   `name:"json" env:"-" help:"Short for --format jsonl."`
}

func (c listJobs) Run(p *Process, s *client.Service) error {
	list, err := s.Jobs(p.Context, max(1, c.Limit))
	if err != nil {
		return err
	}
	if c.JSON || c.Format == "jsonl" || c.Format == "auto" && !isTerminal(p.Stdout) {
		for _, job := range list {
			if err := p.printJob(job); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tKIND\tSTATUS\tPROGRESS\tCREATED")
	for _, job := range list {
		created := time.Unix(job.CreatedAt, 0).Format(time.DateTime)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", job.ID, job.Kind, job.Status, job.Progress, created)
	}
	return table.Flush()
}

// jobFlags name one job of a service.
type jobFlags struct {
	remoteFlags `embed:"" group:"Service"`

	ID string `arg:"" help:"Id of the job."`
}

type showJob struct {
	jobFlags `embed:""`
}

func (c showJob) Run(p *Process, s *client.Service) error {
	job, err := s.Job(p.Context, c.ID)
	if err != nil {
		return err
	}
	return p.printJob(job)
}

type cancelJob struct {
	jobFlags `embed:""`
}

func (c cancelJob) Run(p *Process, s *client.Service) error {
	job, err := s.CancelJob(p.Context, c.ID)
	if err != nil {
		return err
	}
	return p.printJob(job)
}

// printJob writes a job as one line of JSON.
func (p *Process) printJob(job client.Job) error {
	_, err := fmt.Fprintf(p.Stdout, "%s\n", job.Raw)
	return err
}
