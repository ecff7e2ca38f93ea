package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"retort/chem/synthesis"
	"retort/orchestrator/filewatch"
	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/admission"
	"retort/orchestrator/inputfile"
	"retort/orchestrator/jobs/responses"
	"retort/orchestrator/manifest"
	"retort/orchestrator/memory"
	"retort/orchestrator/oracle"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
	"retort/orchestrator/triton/discovery"
)

// memoryPatience is how long a large request waits for memory before it is refused: long enough for another such
// request to be served.
const memoryPatience = 20 * time.Second

// tracingFlush bounds the sending of the last spans.
const tracingFlush = 5 * time.Second

// resources are what all APIs share.
type resources struct {
	config      *Config
	logger      zerolog.Logger
	metrics     *telemetry.Metrics
	memory      *memory.Budget
	gate        *admission.BackgroundGate // admits background work beside the requests of clients
	client      *triton.Client
	registry    *discovery.Registry
	oracles     *oracle.Oracles
	planner     *synthesis.Planner
	digests     manifest.Digests   // of models, for the manifests of answers
	responses   *responses.Service // nil if no response is stored
	keys        *gateway.Keys      // nil if no key is required
	files       *filewatch.Watcher
	stopTracing func(context.Context) error
	*lifetime
}

// lifetime has the steps of a drain, in order.
type lifetime struct {
	draining       atomic.Bool     // once true, readiness is refused
	searchCtx      context.Context // once done, searches answer with what they have found
	cancelSearches context.CancelFunc
	ctx            context.Context // of the process: once done, all work ends
	cancel         context.CancelFunc
}

func newLifetime(parent context.Context) *lifetime {
	l := &lifetime{}
	l.searchCtx, l.cancelSearches = context.WithCancel(parent)
	l.ctx, l.cancel = context.WithCancel(parent)
	return l
}

// openResources opens what the settings name. It connects to Triton with the first call.
func openResources(config *Config, logger zerolog.Logger) (*resources, error) {
	r := &resources{
		config:   config,
		logger:   logger,
		metrics:  telemetry.NewMetrics(),
		memory:   memory.NewBudget(config.memoryBudget(), memoryPatience),
		gate:     admission.NewBackgroundGate(config.Batch.Concurrency),
		files:    filewatch.New(logger),
		lifetime: newLifetime(context.Background()),
	}
	r.metrics.RegisterBackgroundLevel(r.gate.Level)
	if config.Jobs && config.Responses.Keep > 0 {
		r.responses = responses.New(config.Responses, responses.Program{
			MaxBytes: int64(config.Chat.Limits.BodyLimit), Memory: r.memory, Logger: logger,
		})
	}
	if err := r.open(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *resources) open() (err error) {
	r.stopTracing, err = telemetry.StartTracing(
		r.ctx, r.logger, r.config.OTLPEndpoint, r.config.OTLPProtocol, r.config.ServiceName, version)
	if err != nil {
		return fmt.Errorf("tracing: %w", err)
	}
	tritonConfig := r.config.triton()
	tritonConfig.Logger = r.logger
	r.client, err = triton.Dial(tritonConfig)
	if err != nil {
		return err
	}
	r.registry = discovery.NewRegistry(r.client, discovery.Config{
		Every:      r.config.Discovery,
		Repository: r.config.ModelRepository,
		QueueDelay: r.config.queueDelay(),
		Logger:     r.logger,
	})
	r.registry.Follow(func(s *discovery.Snapshot) { r.metrics.SetTritonUp(!s.Stale) })
	openOracle := oracle.Opener(r.client, r.config.Oracle, r.batching(oracle.API), r.metrics.CountMolecules)
	r.oracles = oracle.New(r.config.Oracle, catalog(r, oracle.API, openOracle))
	if r.planner, err = r.openPlanner(); err != nil {
		return err
	}
	if r.keys, err = r.config.keys(); err != nil {
		return err
	}
	if r.keys != nil {
		r.files.Add("keys-file", r.keys.Reload, r.config.KeysFile)
	}
	return nil
}

// openPlanner returns the planner of syntheses from the building blocks that the settings name.
func (r *resources) openPlanner() (*synthesis.Planner, error) {
	path := r.config.BuildingBlocks
	if path == "" {
		return synthesis.NewPlanner(synthesis.Default())
	}
	file, err := inputfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("building-blocks: %w", err)
	}
	defer file.Close()
	blocks, err := synthesis.ReadBlocks(r.ctx, file)
	if err != nil {
		return nil, fmt.Errorf("building-blocks: %s: %w", path, err)
	}
	r.logger.Info().Str("file", path).Int("molecules", blocks.Len()).Msg("building blocks read")
	return synthesis.NewPlanner(blocks)
}

// close releases the resources that are open.
func (r *resources) close() {
	r.cancel()
	r.cancelSearches()
	if r.registry != nil {
		r.registry.Close()
	}
	if r.client != nil {
		r.client.Close()
	}
	if r.stopTracing != nil {
		ctx, cancel := context.WithTimeout(context.Background(), tracingFlush)
		defer cancel()
		_ = r.stopTracing(ctx) // without a collector only spans are lost
	}
}

// options returns the options of a gateway with these limits.
func (r *resources) options(limits gateway.Config) gateway.Options {
	return gateway.Options{
		Config:       limits,
		Keys:         r.keys,
		Memory:       r.memory,
		Stopping:     r.searchCtx,
		CORSOrigins:  r.config.CORSOrigins,
		Version:      version,
		Logger:       r.logger,
		Metrics:      r.metrics,
		StartRequest: r.gate.StartRequest,
	}
}

// openGateway opens the gateway of an API.
func (r *resources) openGateway(api gateway.API, options gateway.Options) (*gateway.Gateway, error) {
	return gateway.New(r.ctx, api, r.draining.Load, options)
}

// openAuxiliary opens the gateway of endpoints that call no model: their requests do not slow down background work.
func (r *resources) openAuxiliary(api gateway.API, options gateway.Options) (*gateway.Gateway, error) {
	options.StartRequest = nil
	return r.openGateway(api, options)
}

// catalog follows the models of an API.
func catalog[T any](r *resources, api string, open func(*triton.Model) (T, error)) *discovery.Catalog[T] {
	models := discovery.NewCatalog(r.registry, api, r.logger, r.reportModels(api), open)
	models.SetAliases(r.config.servedNames())
	return models
}

// reportModels returns a function that reports the number of an API's models as a metric.
func (r *resources) reportModels(api string) func(int) {
	return func(count int) { r.metrics.SetModelsReady(api, count) }
}

// batching returns the options for the rows of an API's requests to share calls to Triton.
func (r *resources) batching(api string) batching.Options {
	return batching.Options{
		MaxTokens:   r.config.BatchTokens,
		Concurrency: r.config.BatchConcurrency,
		Observe:     func(b batching.Stats) { r.metrics.ObserveBatch(api, b.Rows, b.Padded) },
	}
}
