package telemetry

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics is the registry of one process. Every name starts with retort_.
type Metrics struct {
	Registry *prometheus.Registry

	requests    *prometheus.CounterVec
	latency     *prometheus.HistogramVec
	triton      *prometheus.HistogramVec
	queued      *prometheus.HistogramVec
	own         *prometheus.HistogramVec
	inFlight    *prometheus.GaugeVec
	waiting     *prometheus.GaugeVec
	refused     *prometheus.CounterVec
	unfinished  *prometheus.CounterVec
	tokens      *prometheus.CounterVec
	rows        *prometheus.CounterVec
	batchRows   *prometheus.HistogramVec
	batchTokens *prometheus.HistogramVec
	oracle      *prometheus.CounterVec
	models      *prometheus.GaugeVec
	tritonUp    prometheus.Gauge

	batchLines   *prometheus.CounterVec
	batchStates  *prometheus.GaugeVec
	batchWaiting *prometheus.GaugeVec
}

// seconds are the bounds of the buckets of durations.
var seconds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}

// NewMetrics returns metrics with a registry of their own, so that a test process can have many.
func NewMetrics() *Metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		registry.MustRegister(c)
		return c
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
		registry.MustRegister(g)
		return g
	}
	histogram := func(buckets []float64, name, help string, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
		registry.MustRegister(h)
		return h
	}
	return &Metrics{
		Registry: registry,
		requests: counter("retort_http_requests_total", "Requests answered, by API, route, method and status.",
			"api", "route", "method", "status"),
		latency: histogram(seconds, "retort_http_request_duration_seconds",
			"Time from the request's arrival to the end of its answer.", "api", "route"),
		triton: histogram(seconds, "retort_http_triton_seconds",
			"The part of a request's time during which Triton worked on its rows.", "api", "route"),
		queued: histogram(seconds, "retort_http_queued_seconds",
			"The part of a request's time during which its rows waited for their turn.", "api", "route"),
		own: histogram(seconds, "retort_http_own_seconds",
			"The part of a request's time spent in the gateway itself.", "api", "route"),
		inFlight: gauge("retort_http_in_flight", "Requests being served.", "api"),
		waiting:  gauge("retort_http_waiting", "Requests waiting until fewer are being served.", "api"),
		refused:  counter("retort_http_refused_total", "Requests refused because of load.", "api"),
		unfinished: counter("retort_http_unfinished_total",
			"Answers with what had been found when something ended the work, by reason.", "api", "reason"),
		tokens: counter("retort_tokens_total", "Tokens given to models, without padding.", "api"),
		rows:   counter("retort_rows_total", "Items of requests: texts, passages, molecules.", "api"),
		batchRows: histogram([]float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512},
			"retort_batch_rows", "Rows per call to Triton.", "api"),
		batchTokens: histogram([]float64{16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384},
			"retort_batch_padded_tokens", "Tokens per call to Triton, with padding.", "api"),
		oracle: counter("retort_oracle_molecules_total",
			"Molecules sent to an oracle, by oracle and outcome: scored, none (no score) or failed.",
			"oracle", "outcome"),
		models:   gauge("retort_models_ready", "Models that an API can use; unchanged while no Triton answers.", "api"),
		tritonUp: gauge("retort_triton_up", "1 while Triton's repository index can be read.").WithLabelValues(),
		batchLines: counter("retort_batch_lines_total",
			"Lines of batches that were answered, by API and outcome: ok or failed.", "api", "outcome"),
		batchStates: gauge("retort_batches",
			"Stored batches of all gateways that share them, by status.", "status"),
		batchWaiting: gauge("retort_batch_tasks_waiting",
			"Tasks (some lines each) that wait or are in progress, of all gateways that share them, by API.", "api"),
	}
}

// AddAPI starts the gauges and counters of an API's load at 0, so that an autoscaler can tell no load from an unknown
// one.
func (m *Metrics) AddAPI(api string) {
	m.inFlight.WithLabelValues(api)
	m.waiting.WithLabelValues(api)
	m.refused.WithLabelValues(api)
}

// OtherRoute labels all requests that match no route, and otherMethod those of unknown methods, so that scanners add no
// time series.
const (
	OtherRoute  = "other"
	otherMethod = "other"
)

// methods are the methods of RFC 9110 and RFC 5789.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodConnect, http.MethodOptions, http.MethodTrace,
}

// ObserveRequest records the end of a request.
func (m *Metrics) ObserveRequest(r *Request, route, method string, status int, took time.Duration) {
	triton := min(r.Triton(), took)
	queued := min(r.Queued(), took-triton)
	if !slices.Contains(methods, method) {
		method = otherMethod
	}
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

// AddInFlight adds n to the requests that api serves.
func (m *Metrics) AddInFlight(api string, n int) { m.inFlight.WithLabelValues(api).Add(float64(n)) }

// AddWaiting adds n to the requests that wait for a permit of api.
func (m *Metrics) AddWaiting(api string, n int) { m.waiting.WithLabelValues(api).Add(float64(n)) }

// CountRefusal counts a request that api refused because of load.
func (m *Metrics) CountRefusal(api string) { m.refused.WithLabelValues(api).Inc() }

// CountUnfinished counts an answer of api that was cut short for a reason.
func (m *Metrics) CountUnfinished(api, reason string) {
	m.unfinished.WithLabelValues(api, reason).Inc()
}

// ObserveBatch records one call to Triton: its rows and its tokens with padding.
func (m *Metrics) ObserveBatch(api string, rows, paddedTokens int) {
	m.batchRows.WithLabelValues(api).Observe(float64(rows))
	m.batchTokens.WithLabelValues(api).Observe(float64(paddedTokens))
}

// CountMolecules counts molecules sent to an oracle, by outcome.
func (m *Metrics) CountMolecules(name, outcome string, molecules int) {
	m.oracle.WithLabelValues(name, outcome).Add(float64(molecules))
}

// SetModelsReady sets how many models api can serve.
func (m *Metrics) SetModelsReady(api string, n int) { m.models.WithLabelValues(api).Set(float64(n)) }

// SetTritonUp sets whether Triton answers.
func (m *Metrics) SetTritonUp(up bool) {
	m.tritonUp.Set(0)
	if up {
		m.tritonUp.Set(1)
	}
}

// CountLine counts an answered line of a batch.
func (m *Metrics) CountLine(api string, ok bool) {
	outcome := "failed"
	if ok {
		outcome = "ok"
	}
	m.batchLines.WithLabelValues(api, outcome).Inc()
}

// SetBatches sets the number of batches by status.
func (m *Metrics) SetBatches(states map[string]int) {
	m.batchStates.Reset()
	for state, n := range states {
		m.batchStates.WithLabelValues(state).Set(float64(n))
	}
}

// SetBatchTasks sets how many tasks of an API wait or are in progress.
func (m *Metrics) SetBatchTasks(api string, tasks int) {
	m.batchWaiting.WithLabelValues(api).Set(float64(tasks))
}

// RegisterBackgroundLevel adds a gauge of the level of background work: see admission.BackgroundGate.
func (m *Metrics) RegisterBackgroundLevel(level func() float64) {
	m.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "retort_background_level",
		Help: "Lines of batches that may be sent at once; below 1, the share of time in which one may be.",
	}, level))
}
