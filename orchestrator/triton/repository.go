package triton

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"retort/orchestrator/telemetry"
	pb "retort/orchestrator/triton/inferencepb"
)

// State is what Triton says of a version of a model.
type State string

// The states. A model of the repository that was never loaded has none.
const (
	Ready       State = "READY"
	Loading     State = "LOADING"
	Unloading   State = "UNLOADING"
	Unavailable State = "UNAVAILABLE"
)

// Entry is one line of a repository index.
type Entry struct {
	// Replica is the address of the server that said it.
	Replica       string
	Name, Version string
	State         State
	// Reason says why it is UNAVAILABLE: "unloaded", or what went wrong.
	Reason string
}

// Index returns what the repository of every live replica holds, by replica,
// name and version. It fails only when none answers. Calls prefer replicas
// whose last index had the model ready.
func (c *Client) Index(ctx context.Context) ([]Entry, error) {
	var entries []Entry
	var answered int
	err := c.each(ctx, "repository_index", func(ctx context.Context, r *replica, done func(func())) error {
		answer, err := r.service.RepositoryIndex(ctx, &pb.RepositoryIndexRequest{})
		if err != nil {
			return err
		}
		serves := make(map[string]bool, len(answer.Models))
		for _, m := range answer.Models {
			serves[m.Name] = serves[m.Name] || State(m.State) == Ready
		}
		r.serves.Store(&serves)
		done(func() {
			answered++
			for _, m := range answer.Models {
				entries = append(entries, Entry{r.address, m.Name, m.Version, State(m.State), m.Reason})
			}
		})
		return nil
	})
	if answered > 0 {
		slices.SortFunc(entries, func(a, b Entry) int {
			return cmp.Or(strings.Compare(a.Replica, b.Replica), strings.Compare(a.Name, b.Name), strings.Compare(a.Version, b.Version))
		})
		return entries, nil
	}
	return nil, err
}

// LoadOptions replace what the repository says of a model.
type LoadOptions struct {
	// Config is a whole configuration in JSON, used in place of config.pbtxt.
	Config string
	// Files are "<version>/<name>" and their bytes. When there are any, the
	// model's folder is not read at all and Config is required.
	Files map[string][]byte
}

// Load loads or reloads a model on every live replica and waits until it is
// ready there. While a model is reloaded its old form goes on serving. Load
// needs a server with --model-control-mode=explicit. After an override, a Load
// without options brings config.pbtxt back only when the model's files changed.
func (c *Client) Load(ctx context.Context, name string, options *LoadOptions) error {
	m := &pb.RepositoryModelLoadRequest{ModelName: name, Parameters: make(map[string]*pb.ModelRepositoryParameter)}
	if options != nil && options.Config != "" {
		m.Parameters["config"] = &pb.ModelRepositoryParameter{
			ParameterChoice: &pb.ModelRepositoryParameter_StringParam{StringParam: options.Config}}
	}
	if options != nil {
		for path, content := range options.Files {
			m.Parameters["file:"+path] = &pb.ModelRepositoryParameter{
				ParameterChoice: &pb.ModelRepositoryParameter_BytesParam{BytesParam: content}}
		}
	}
	return c.each(ctx, "model_load", func(ctx context.Context, r *replica, _ func(func())) error {
		_, err := r.service.RepositoryModelLoad(ctx, m)
		return err
	})
}

// Unload unloads a model on every live replica. It returns when no new request
// is taken; those in flight are finished. Unloading what is not loaded is no
// error.
func (c *Client) Unload(ctx context.Context, name string) error {
	return c.each(ctx, "model_unload", func(ctx context.Context, r *replica, _ func(func())) error {
		_, err := r.service.RepositoryModelUnload(ctx, &pb.RepositoryModelUnloadRequest{ModelName: name})
		return err
	})
}

// Statistics is what one replica counted for one version of a model since it
// was loaded.
type Statistics struct {
	Replica, Name, Version string
	LastInference          time.Time
	// Rows were inferred in Executions calls of the backend.
	Rows, Executions uint64
	// Requests and what they spent in all, by outcome and by phase.
	Success, Failure, Queue, Input, Compute, Output Duration
	// Batches counts executions by their number of rows.
	Batches map[uint64]uint64
}

// Duration is a number of events and the time they took together.
type Duration struct {
	Count uint64
	Total time.Duration
}

// Statistics returns them for a model ("" for all) and version ("" for all),
// replica by replica. A replica that does not have the model is left out; it is
// an error when none has it.
func (c *Client) Statistics(ctx context.Context, name, version string) ([]Statistics, error) {
	var all []Statistics
	err := c.each(ctx, "model_statistics", func(ctx context.Context, r *replica, done func(func())) error {
		answer, err := r.service.ModelStatistics(ctx, &pb.ModelStatisticsRequest{Name: name, Version: version})
		done(func() {
			for _, m := range answer.GetModelStats() {
				all = append(all, statisticsFrom(r.address, m))
			}
		})
		return err
	})
	if len(all) > 0 {
		return all, nil
	}
	return nil, err
}

func statisticsFrom(replica string, m *pb.ModelStatistics) Statistics {
	duration := func(d *pb.StatisticDuration) Duration { return Duration{d.GetCount(), time.Duration(d.GetNs())} }
	s, i := Statistics{
		Replica: replica, Name: m.Name, Version: m.Version,
		Rows: m.InferenceCount, Executions: m.ExecutionCount, Batches: make(map[uint64]uint64),
	}, m.GetInferenceStats()
	s.Success, s.Failure, s.Queue = duration(i.GetSuccess()), duration(i.GetFail()), duration(i.GetQueue())
	s.Input, s.Compute, s.Output = duration(i.GetComputeInput()), duration(i.GetComputeInfer()), duration(i.GetComputeOutput())
	if m.LastInference > 0 {
		s.LastInference = time.UnixMilli(int64(m.LastInference))
	}
	for _, b := range m.BatchStats {
		s.Batches[b.BatchSize] = b.GetComputeInfer().GetCount()
	}
	return s
}

// each runs f against all live replicas at once and returns the first error in
// their order. f hands its results over inside done, one replica at a time.
func (c *Client) each(ctx context.Context, name string, f func(ctx context.Context, r *replica, done func(func())) error) error {
	request, start := telemetry.FromContext(ctx), time.Now()
	defer func() { request.AddTriton(time.Since(start)) }()
	ctx, end := begin(ctx, name, "")
	replicas := c.pool.live()
	if len(replicas) == 0 {
		return end(errNoReplica())
	}
	var mu sync.Mutex
	done := func(collect func()) { mu.Lock(); defer mu.Unlock(); collect() }
	errs := make([]error, len(replicas))
	var calls sync.WaitGroup
	for i, r := range replicas {
		calls.Go(func() { errs[i] = c.on(r, func() error { return f(ctx, r, done) }) })
	}
	calls.Wait()
	for _, err := range errs {
		if err != nil {
			return end(translate(ctx, err))
		}
	}
	return end(nil)
}
