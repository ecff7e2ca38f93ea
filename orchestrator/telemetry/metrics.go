package telemetry

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics is the registry of one process. Every name begins with retort_.
type Metrics struct {
	Registry *prometheus.Registry

	requests  *prometheus.CounterVec
	latency   *prometheus.HistogramVec
	triton    *prometheus.HistogramVec
	queued    *prometheus.HistogramVec
	own       *prometheus.HistogramVec
	inFlight  *prometheus.GaugeVec
	waiting   *prometheus.GaugeVec
	refused   *prometheus.CounterVec
	cut       *prometheus.CounterVec
	tokens    *prometheus.CounterVec
	rows      *prometheus.CounterVec
	batchRows *prometheus.HistogramVec
	batchPad  *prometheus.HistogramVec
	oracle    *prometheus.CounterVec
	models    *prometheus.GaugeVec
	tritonUp  prometheus.Gauge

	batchLines   *prometheus.CounterVec
	batchStates  *prometheus.GaugeVec
	batchWaiting *prometheus.GaugeVec
}

// seconds spans half a millisecond to two minutes.
var seconds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}

// NewMetrics returns a registry of its own, so that a test process can hold many.
func NewMetrics() *Metrics {
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "retort_http_requests_total", Help: "Requests answered, by API, route, method and status.",
		}, []string{"api", "route", "method", "status"}),
		latency: histogram("retort_http_request_duration_seconds", "Time from the request's arrival to the end of its answer.", seconds, "api", "route"),
		triton:  histogram("retort_http_triton_seconds", "The part of a request's time during which Triton worked on its rows.", seconds, "api", "route"),
		queued:  histogram("retort_http_queued_seconds", "The part of a request's time during which its rows waited for their turn.", seconds, "api", "route"),
		own:     histogram("retort_http_own_seconds", "The part of a request's time spent in the gateway itself.", seconds, "api", "route"),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "retort_http_in_flight", Help: "Requests being served.",
		}, []string{"api"}),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "retort_http_waiting", Help: "Requests waiting for a place among those being served.",
		}, []string{"api"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "retort_http_refused_total", Help: "Requests refused because of load.",
		}, []string{"api"}),
		cut: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "retort_http_unfinished_total", Help: "Answers with what had been found until something ended the work, by reason.",
		}, []string{"api", "reason"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "retort_tokens_total", Help: "Tokens given to models, padding not counted.",
		}, []string{"api"}),
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "retort_rows_total", Help: "Items of requests: texts, passages, molecules.",
		}, []string{"api"}),
		batchRows: histogram("retort_batch_rows", "Rows per call to Triton.", []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}, "api"),
		batchPad:  histogram("retort_batch_padded_tokens", "Tokens per call to Triton, padding counted.", []float64{16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}, "api"),
		oracle: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "retort_oracle_molecules_total", Help: "Molecules that an oracle was asked to score, by oracle and outcome: scored, none (no score) or failed.",
		}, []string{"oracle", "outcome"}),
		models: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "retort_models_ready", Help: "Models that an API can serve now.",
		}, []string{"api"}),
		tritonUp: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "retort_triton_up", Help: "1 while Triton's repository index can be read.",
		}),
	}
	m.batchLines = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "retort_batch_lines_total", Help: "Lines of batches that were answered, by API and whether with success (ok) or not (failed).",
	}, []string{"api", "outcome"})
	m.batchStates = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "retort_batches", Help: "Batches that are kept, by their state: of all gateways that share them.",
	}, []string{"status"})
	m.batchWaiting = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "retort_batch_tasks_waiting", Help: "Tasks (some lines each) that wait or are worked on, by API: of all gateways that share them.",
	}, []string{"api"})
	m.Registry.MustRegister(m.batchLines, m.batchStates, m.batchWaiting)
	m.Registry.MustRegister(m.requests, m.latency, m.triton, m.queued, m.own, m.inFlight, m.waiting, m.refused, m.cut, m.tokens, m.rows,
		m.batchRows, m.batchPad, m.oracle, m.models, m.tritonUp,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// Serves makes the gauges and counters of an API's load begin at 0: what scales on them has to tell "none" from "unknown".
func (m *Metrics) Serves(api string) {
	m.inFlight.WithLabelValues(api)
	m.waiting.WithLabelValues(api)
	m.refused.WithLabelValues(api)
}

// OtherRoute is the route in the metrics of all requests that match none, so that scanners add no time series.
const OtherRoute = "other"

// Answered records the end of a request. Requests that matched no route share the route "other", so that scanners
// cannot grow the registry.
func (m *Metrics) Answered(r *Request, route, method string, status int, took time.Duration) {
	triton := min(r.Triton(), took)
	queued := min(r.Queued(), took-triton)
	m.requests.WithLabelValues(r.API, route, method, strconv.Itoa(status)).Inc()
	m.latency.WithLabelValues(r.API, route).Observe(took.Seconds())
	if r.Triton() > 0 {
		m.triton.WithLabelValues(r.API, route).Observe(triton.Seconds())
		m.queued.WithLabelValues(r.API, route).Observe(queued.Seconds())
		m.own.WithLabelValues(r.API, route).Observe((took - triton - queued).Seconds())
	}
	if n := r.Tokens(); n > 0 {
		m.tokens.WithLabelValues(r.API).Add(float64(n))
	}
	if n := r.Rows(); n > 0 {
		m.rows.WithLabelValues(r.API).Add(float64(n))
	}
}

// InFlight adds n to the requests that api is serving.
func (m *Metrics) InFlight(api string, n int) { m.inFlight.WithLabelValues(api).Add(float64(n)) }

// Waiting adds n to the requests that wait for a place at api.
func (m *Metrics) Waiting(api string, n int) { m.waiting.WithLabelValues(api).Add(float64(n)) }

// Refused counts a request that api refused because of load.
func (m *Metrics) Refused(api string) { m.refused.WithLabelValues(api).Inc() }

// Unfinished counts an answer of api that was cut short for a reason.
func (m *Metrics) Unfinished(api, reason string) { m.cut.WithLabelValues(api, reason).Inc() }

// Batch records one call to Triton: its rows and its tokens with padding.
func (m *Metrics) Batch(api string, rows, paddedTokens int) {
	m.batchRows.WithLabelValues(api).Observe(float64(rows))
	m.batchPad.WithLabelValues(api).Observe(float64(paddedTokens))
}

// Oracle counts molecules that an oracle was asked to score, by what became of them.
func (m *Metrics) Oracle(name, outcome string, molecules int) {
	m.oracle.WithLabelValues(name, outcome).Add(float64(molecules))
}

// ModelsReady sets how many models api can serve.
func (m *Metrics) ModelsReady(api string, n int) { m.models.WithLabelValues(api).Set(float64(n)) }

// TritonUp says whether Triton answers.
func (m *Metrics) TritonUp(up bool) {
	m.tritonUp.Set(0)
	if up {
		m.tritonUp.Set(1)
	}
}

// Line counts a line of a batch that was answered.
func (m *Metrics) Line(api string, ok bool) {
	outcome := "failed"
	if ok {
		outcome = "ok"
	}
	m.batchLines.WithLabelValues(api, outcome).Inc()
}

// Batches sets how many batches there are by their state.
func (m *Metrics) Batches(states map[string]int) {
	m.batchStates.Reset()
	for state, n := range states {
		m.batchStates.WithLabelValues(state).Set(float64(n))
	}
}

// BatchTasks sets how many tasks of an API wait or are worked on.
func (m *Metrics) BatchTasks(api string, tasks int) {
	m.batchWaiting.WithLabelValues(api).Set(float64(tasks))
}

// BackgroundLevel adds a gauge of the level of background work: see admission.BackgroundGate.
func (m *Metrics) BackgroundLevel(level func() float64) {
	m.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "retort_background_level",
		Help: "Places for lines of batches beside the requests of clients; below 1, the share of time in which one is taken.",
	}, level))
}
