package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"retort/orchestrator/gateway"
	"retort/orchestrator/jobs/optimization"
	"retort/orchestrator/mcp"
)

// searchTasks serves searches as jobs as tasks of the Model Context Protocol.
type searchTasks struct{ jobs *optimization.Service }

// Start implements mcp.Tasks.
func (t searchTasks) Start(ctx context.Context, api string, body []byte) (mcp.Task, error) {
	job, err := t.jobs.Create(ctx, api, gateway.Caller(ctx), body)
	return newTask(job), err
}

// Get implements mcp.Tasks.
func (t searchTasks) Get(ctx context.Context, id string) (mcp.Task, error) {
	job, err := t.jobs.Get(ctx, gateway.Caller(ctx), id)
	if err != nil {
		return mcp.Task{}, err
	}
	task := newTask(job)
	switch {
	case task.Status == mcp.Completed && job.HasResult:
		task.Answer, err = t.jobs.Result(ctx, gateway.Caller(ctx), job)
	case task.Status == mcp.Completed:
		task.Refusal = string(job.Error)
	case task.Status == mcp.Failed:
		task.Error = "the search failed, and has no error of its API"
	}
	return task, err
}

// Cancel implements mcp.Tasks.
func (t searchTasks) Cancel(ctx context.Context, id string) error {
	_, err := t.jobs.Cancel(ctx, gateway.Caller(ctx), id)
	return err
}

// newTask returns the state of a job as that of a task. A job that failed with molecules, or with an error of its API,
// is a completed task: its call would have had that answer.
func newTask(job optimization.Job) mcp.Task {
	task := mcp.Task{
		ID: job.ID, Status: mcp.Working, CreatedAt: time.Unix(job.CreatedAt, 0),
		UpdatedAt: time.Unix(*cmp.Or(job.EndedAt, job.StartedAt, &job.CreatedAt), 0),
	}
	if job.ExpiresAt != nil {
		task.ExpiresAt = time.Unix(*job.ExpiresAt, 0)
	}
	switch job.Status {
	case optimization.Completed:
		task.Status = mcp.Completed
	case optimization.Failed:
		task.Status = mcp.Failed
		if job.HasResult || hasError(job) {
			task.Status = mcp.Completed
		}
	case optimization.Cancelled:
		task.Status = mcp.Cancelled
		task.Message = fmt.Sprintf("The molecules found so far: GET /%s%s/%s/result", job.API, optimization.Path, job.ID)
	case optimization.Queued:
		task.Message = "The search waits for its turn."
	default:
		task.Message = fmt.Sprintf("%d of %d iterations, %d molecules evaluated.",
			job.Progress.Iteration, job.Progress.Iterations, job.Progress.Evaluations)
	}
	return task
}

// hasError reports whether a job ended with an error of its API.
func hasError(job optimization.Job) bool { return len(job.Error) > 0 && string(job.Error) != "null" }
