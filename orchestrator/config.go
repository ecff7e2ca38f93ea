package main

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"retort/orchestrator/chat"
	"retort/orchestrator/embedding"
	"retort/orchestrator/gateway"
	"retort/orchestrator/jobs/batch"
	"retort/orchestrator/jobs/optimization"
	"retort/orchestrator/jobs/queue"
	"retort/orchestrator/jobs/responses"
	"retort/orchestrator/latent"
	"retort/orchestrator/masked"
	"retort/orchestrator/memory"
	"retort/orchestrator/oracle"
	"retort/orchestrator/ranking"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/triton"
)

// Config holds all settings of the program, including those of the packages. Each has a flag (--embedding-port), an
// environment variable (RETORT_EMBEDDING_PORT) and a key in the YAML file (embedding-port, or port under embedding). A
// flag wins over the environment, which wins over the file. This file is the only reader of the environment.
type Config struct {
	Config kong.ConfigFlag `placeholder:"FILE" env:"RETORT_CONFIG" help:"YAML file with settings."`

	Host            string        `default:"0.0.0.0" help:"Address on which the ports listen."`
	Port            int           `env:"RETORT_PORT,NIM_HTTP_API_PORT" default:"8000" help:"Main port, with the web page and every API under its name (-1: any free one)."`
	TritonURL       []string      `name:"triton-url" env:"RETORT_TRITON_URL" default:"127.0.0.1:8701" placeholder:"HOST:PORT" help:"gRPC addresses of Triton, over which calls are balanced."`
	TritonTLS       bool          `name:"triton-tls" help:"Use TLS for Triton. Addresses that begin with grpcs:// always do."`
	TritonCA        string        `name:"triton-ca" type:"path" placeholder:"FILE" help:"Certificate authorities (PEM) to trust for Triton; by default the system's."`
	QueueDelay      *uint32       `name:"triton-queue-delay" env:"RETORT_TRITON_DYNAMIC_BATCHING_MAX_QUEUE_DELAY_MICROSECONDS,NIM_TRITON_DYNAMIC_BATCHING_MAX_QUEUE_DELAY_MICROSECONDS" placeholder:"MICROSECONDS" help:"Longest time in microseconds that Triton holds a request so that others can join its batch; by default as each config.pbtxt says. Requires Triton's --model-control-mode=explicit."`
	ModelRepository string        `default:"model_repository" type:"path" help:"Folder with Triton's model repository, for the tokenizers and templates in it."`
	ServedModelName []string      `env:"RETORT_SERVED_MODEL_NAME,NIM_SERVED_MODEL_NAME" placeholder:"NAME" help:"Aliases of embedding, ranking and chat models: NAME=ID, or NAME alone for the first model of each API."`
	Welcome         bool          `help:"Print the addresses of all APIs and pages once the ports listen."`
	Discovery       time.Duration `default:"1s" help:"How often the gateway asks Triton which models are loaded."`

	BatchTokens      int `default:"512" help:"Most tokens in one call to Triton: about 512 for a CPU, thousands for a GPU."`
	BatchConcurrency int `default:"2" help:"Most calls at once for one model to each replica of Triton."`

	MemoryBudget   int64         `default:"0" placeholder:"BYTES" help:"Bytes for the bodies and images of all requests together; others wait. 0: an eighth of the memory of the machine or container, between 256 MiB and 2 GiB."`
	MaxConnections int           `default:"4096" help:"Most open connections of a port."`
	MaxWatches     int           `default:"256" help:"Most event streams of jobs (…/jobs/{id}/events) open at once, for each API. 0: no limit."`
	ClientWatches  int           `default:"32" help:"Most event streams of one client, that is, a key or, without keys, an address, for each API. 0: no limit."`
	ConnectionAge  time.Duration `default:"0s" help:"Age at which a connection is closed after its next answer, so that clients reach new gateways. 0: never."`
	WriteTimeout   time.Duration `default:"30s" help:"Longest time for a client to read 256 KiB of an answer."`

	Oracle oracle.Config `embed:"" prefix:"oracle-" group:"Oracles of the molecule APIs"`

	BuildingBlocks string `type:"path" placeholder:"FILE" help:"Molecules that syntheses start from (term synthesis_steps), as SMILES, one per line, at most a million; by default a small built-in set."`

	MCP bool `name:"mcp" default:"true" negatable:"" help:"Serve the APIs as tools of the Model Context Protocol, at /mcp of the main port."`

	Jobs         bool                `default:"true" negatable:"" help:"Accept files, batches and other jobs that outlast a request, and store responses."`
	JobsData     string              `type:"path" placeholder:"DIR" help:"Folder that stores jobs, unless nats-url is set; by default $XDG_STATE_HOME/retort/jobs or ~/.local/state/retort/jobs."`
	JobsMaxBytes int64               `default:"0" placeholder:"BYTES" help:"Stored bytes at which new files and jobs are refused. 0: 10 GiB or, if that is less, a quarter of the disk space that is free or used by jobs."`
	JobsKeyBytes int64               `name:"jobs-key-bytes" default:"0" placeholder:"BYTES" help:"Most bytes of the files of one key, as many for its searches, and as many for its responses. 0: a quarter of jobs-max-bytes."`
	Batch        batch.Config        `embed:"" prefix:"jobs-" group:"Files and batches"`
	Optimization optimization.Config `embed:"" prefix:"jobs-" group:"Searches as jobs"`
	Responses    responses.Config    `embed:"" prefix:"jobs-" group:"Responses"`
	NATS         queue.Cluster       `embed:"" prefix:"nats-" group:"NATS cluster of jobs"`

	LogLevel     string        `env:"RETORT_LOG_LEVEL,NIM_LOG_LEVEL" default:"info" help:"trace, debug, info (also: default), warn (also: warning), error or critical."`
	LogFormat    string        `enum:"auto,pretty,json" default:"auto" help:"pretty, json, or auto: pretty on a terminal, json elsewhere."`
	JSONLLogging bool          `name:"jsonl-logging" env:"RETORT_JSONL_LOGGING,NIM_JSONL_LOGGING" help:"Log one JSON object per line, whatever log-format says."`
	KeysFile     string        `type:"path" placeholder:"FILE" help:"File of bearer keys that clients may use, one per line. Without it, no key is required."`
	CORSOrigins  string        `name:"cors-origins" placeholder:"ORIGIN,…" help:"Origins of web pages whose scripts may call the APIs."`
	TLSCert      string        `name:"tls-cert" env:"RETORT_TLS_CERT,NIM_TLS_CERT_PATH" type:"path" placeholder:"FILE" help:"Certificate chain (PEM). With --tls-key, the ports use TLS."`
	TLSKey       string        `name:"tls-key" env:"RETORT_TLS_KEY,NIM_TLS_KEY_PATH" type:"path" placeholder:"FILE" help:"Private key (PEM)."`
	DrainDelay   time.Duration `default:"0s" help:"After SIGTERM: how long requests are still served while the readiness probe answers 503."`
	DrainTimeout time.Duration `default:"30s" help:"After SIGTERM and drain-delay: how long requests in flight may take to end."`

	OTLPEndpoint string `name:"otlp-endpoint" env:"RETORT_OTLP_ENDPOINT,OTEL_EXPORTER_OTLP_ENDPOINT" placeholder:"URL" help:"OpenTelemetry collector that receives traces."`
	OTLPProtocol string `name:"otlp-protocol" env:"RETORT_OTLP_PROTOCOL,OTEL_EXPORTER_OTLP_PROTOCOL" enum:"grpc,http/protobuf" default:"grpc" help:"Protocol of the collector: grpc or http/protobuf."`
	ServiceName  string `env:"RETORT_SERVICE_NAME,OTEL_SERVICE_NAME" default:"retort" help:"Name of the service in traces."`

	Latent    apiConfig[latent.Config]    `embed:"" prefix:"latent-" group:"Latent-space molecules" set:"port=8001" set:"concurrency=64" set:"body=16777216"`
	Masked    apiConfig[masked.Config]    `embed:"" prefix:"masked-" group:"Masked-template molecules" set:"port=8002" set:"concurrency=64" set:"body=1048576"`
	Embedding apiConfig[embedding.Config] `embed:"" prefix:"embedding-" group:"Text embedding" set:"port=8003" set:"concurrency=256" set:"body=16777216"`
	Ranking   apiConfig[ranking.Config]   `embed:"" prefix:"ranking-" group:"Passage ranking" set:"port=8004" set:"concurrency=256" set:"body=16777216"`
	Chat      apiConfig[chat.Config]      `embed:"" prefix:"chat-" group:"Vision-language chat" set:"port=8005" set:"concurrency=64" set:"body=33554432"`
}

// apiConfig has the settings of one API: the limits that all APIs have, and the settings of its package.
type apiConfig[Room any] struct {
	Limits gateway.Config `embed:""`
	Room   Room           `embed:""`
}

// memoryBudget returns MemoryBudget, or the default for this machine, in bytes.
func (c *Config) memoryBudget() int64 {
	if c.MemoryBudget > 0 {
		return c.MemoryBudget
	}
	return memory.DefaultSize()
}

// triton returns the settings of the connection to Triton.
func (c *Config) triton() triton.Config {
	return triton.Config{URLs: c.TritonURL, TLS: triton.TLS{Enabled: c.TritonTLS, CA: c.TritonCA}}
}

// queueDelay returns the maximum queue delay of models that batch dynamically, or nil for the value in config.pbtxt.
func (c *Config) queueDelay() *time.Duration {
	if c.QueueDelay == nil {
		return nil
	}
	delay := time.Duration(*c.QueueDelay) * time.Microsecond
	return &delay
}

// openToAll reports whether the ports listen on all networks and require no key.
func (c *Config) openToAll() bool {
	ip := net.ParseIP(c.Host)
	return c.KeysFile == "" && ip != nil && ip.IsUnspecified()
}

// logFormat returns pretty, json or auto.
func (c *Config) logFormat() string {
	if c.JSONLLogging {
		return "json"
	}
	return c.LogFormat
}

// servedNames returns aliases of models: the public id by alias, "" for the first model of each API.
func (c *Config) servedNames() map[string]string {
	names := map[string]string{}
	for _, pair := range c.ServedModelName {
		name, id, _ := strings.Cut(pair, "=")
		names[strings.TrimSpace(name)] = strings.TrimSpace(id)
	}
	return names
}

// Validate reports every invalid setting in a message of its own. Kong calls it once all settings are read.
func (c *Config) Validate() error {
	_, levelErr := telemetry.ParseLevel(c.LogLevel)
	errs := []error{
		requirePort("port", c.Port),
		requireWith("tls-cert", c.TLSCert, "tls-key", c.TLSKey),
		requireWith("tls-key", c.TLSKey, "tls-cert", c.TLSCert),
		inSetting("triton-url", c.triton().Validate()),
		requirePositive("discovery", c.Discovery),
		requirePositive("batch-tokens", c.BatchTokens),
		requirePositive("batch-concurrency", c.BatchConcurrency),
		requireNotNegative("memory-budget", c.MemoryBudget),
		requirePositive("max-connections", c.MaxConnections),
		requireNotNegative("connection-age", c.ConnectionAge),
		requirePositive("write-timeout", c.WriteTimeout),
		requirePositive("oracle-timeout", c.Oracle.Timeout),
		requirePositive("oracle-calls", c.Oracle.Calls),
		requireNotNegative("jobs-max-bytes", c.JobsMaxBytes),
		requireNotNegative("jobs-key-bytes", c.JobsKeyBytes),
		requirePositive("jobs-file-bytes", c.Batch.FileBytes),
		requirePositive("jobs-requests", c.Batch.Requests),
		requirePositive("jobs-concurrency", c.Batch.Concurrency),
		requireNotNegative("jobs-transfer-rate", c.Batch.TransferRate),
		requireAtLeast("jobs-keep-files", c.Batch.KeepFiles, time.Hour),
		requirePositive("jobs-searches", c.Optimization.Searches),
		requirePositive("jobs-search-timeout", c.Optimization.Timeout),
		requirePositive("jobs-keep-searches", c.Optimization.Keep),
		requirePositive("jobs-most-searches", c.Optimization.MaxJobs),
		requireNotNegative("jobs-keep-responses", c.Responses.Keep),
		requirePositive("jobs-most-responses", c.Responses.Most),
		requirePositive("jobs-background-responses", c.Responses.Background),
		c.NATS.Validate(),
		inSetting("log-level", levelErr),
		c.validateServedModelNames(),
		requirePositive("masked-batch-tokens", c.Masked.Room.BatchTokens),
		inSetting("chat", c.Chat.Room.Validate()),
	}
	for _, s := range services {
		limits := s.limits(c)
		errs = append(errs,
			requirePort(s.name+"-port", limits.Port),
			requirePositive(s.name+"-concurrency", limits.Concurrency),
			requireNotNegative(s.name+"-queue", limits.Queue),
			requirePositive(s.name+"-body-limit", limits.BodyLimit),
			requirePositive(s.name+"-timeout", limits.Timeout),
		)
	}
	for _, g := range grpcServices {
		errs = append(errs, requirePort(g.api+grpcSuffix+"-port", g.port(c)))
	}
	return errors.Join(append(errs, c.validatePortsDiffer())...)
}

// validatePortsDiffer reports the API ports that another port has too.
func (c *Config) validatePortsDiffer() error {
	var errs []error
	names := map[int]string{c.Port: "main"}
	check := func(name string, port int) {
		if other, taken := names[port]; taken && port > 0 {
			errs = append(errs, fmt.Errorf("%s-port: %d is also the port of %s", name, port, other))
		}
		names[port] = name
	}
	for _, s := range services {
		check(s.name, s.limits(c).Port)
	}
	for _, g := range grpcServices {
		check(g.api+grpcSuffix, g.port(c))
	}
	return errors.Join(errs...)
}

func (c *Config) validateServedModelNames() error {
	var errs []error
	for _, pair := range c.ServedModelName {
		if name, _, _ := strings.Cut(pair, "="); strings.TrimSpace(name) == "" {
			errs = append(errs, fmt.Errorf("served-model-name: %q has no name", pair))
		}
	}
	return errors.Join(errs...)
}

// inSetting puts the name of the setting at fault before an error.
func inSetting(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// amount is a number or a duration.
type amount interface{ int | int64 | time.Duration }

func requirePositive[A amount](name string, value A) error {
	if value > 0 {
		return nil
	}
	return fmt.Errorf("%s: %v is not positive", name, value)
}

func requireNotNegative[A amount](name string, value A) error { return requireAtLeast(name, value, 0) }

func requireAtLeast[A amount](name string, value, least A) error {
	if value >= least {
		return nil
	}
	return fmt.Errorf("%s: %v is less than %v", name, value, least)
}

func requirePort(name string, port int) error {
	if port >= -1 && port <= 65535 {
		return nil
	}
	return fmt.Errorf("%s: %d is not a port (-1 to 65535)", name, port)
}

// requireWith returns an error if a setting has no value although the other one has.
func requireWith(name, value, other, otherValue string) error {
	if value != "" || otherValue == "" {
		return nil
	}
	return fmt.Errorf("%s: it is missing, and %s requires it", name, other)
}
