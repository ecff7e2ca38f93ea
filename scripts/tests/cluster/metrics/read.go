package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// sample is what a pod's counters were at one moment, and the value drawn from them then.
type sample struct {
	at    time.Time
	first float64
	later float64
	value float64
}

// samples are those last seen, by address and metric.
type samples struct {
	mu   sync.Mutex
	last map[string]sample
}

// least is the time between two looks at counters: an earlier one repeats the value before.
const least = time.Second

// ratio is a metric made of two counters: how much one has grown for each step of the other, in another unit.
type ratio struct {
	above, below string
	unit         float64
}

// ratios are the metrics of the chart's rules for prometheus-adapter (files/adapter-rules.yaml) that are no series.
var ratios = map[string]ratio{
	"nv_inference_queue_seconds": {"nv_inference_queue_duration_us", "nv_inference_request_success", 1e-6},
}

// read returns a metric of one pod: the sum of its series, or a ratio since the last look; 0 where that cannot be said.
func (s *samples) read(ctx context.Context, url, name string) (float64, error) {
	families, err := fetch(ctx, url)
	if err != nil {
		return 0, err
	}
	of, isRatio := ratios[name]
	if !isRatio {
		return sum(families, name)
	}
	first, err := sum(families, of.above)
	if err != nil {
		return 0, err
	}
	later, err := sum(families, of.below)
	if err != nil {
		return 0, err
	}
	return of.unit * s.grown(url+" "+name, first, later), nil
}

// grown is the growth of first for each step of later since the last look.
func (s *samples) grown(key string, first, later float64) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, known := s.last[key]
	if known && time.Since(old.at) < least {
		return old.value
	}
	now := sample{at: time.Now(), first: first, later: later}
	if known && later > old.later && first >= old.first {
		now.value = (first - old.first) / (later - old.later)
	}
	s.last[key] = now
	return now.value
}

func fetch(ctx context.Context, url string) (map[string]*dto.MetricFamily, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers with status %d", url, answer.StatusCode)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(answer.Body)
}

// sum adds all series of a gauge or counter.
func sum(families map[string]*dto.MetricFamily, name string) (total float64, err error) {
	family := families[name]
	if family == nil {
		return 0, errors.New("there is no metric " + name)
	}
	for _, m := range family.Metric {
		total += m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue()
	}
	return total, nil
}

// endpoint is where a pod's metrics are: as its annotations say, or the first of its ports called metrics or http.
func endpoint(pod map[string]any) (string, error) {
	address := text(pod, "status", "podIP")
	if address == "" || text(pod, "metadata", "deletionTimestamp") != "" {
		return "", errors.New("the pod has no address, or is ending")
	}
	port := text(pod, "metadata", "annotations", "prometheus.io/port")
	for _, wanted := range []string{"metrics", "http", "http-metrics"} {
		if port == "" {
			port = named(pod, wanted)
		}
	}
	if port == "" {
		return "", errors.New("the pod has no port for metrics")
	}
	return "http://" + address + ":" + port + "/metrics", nil
}

// text is the word at a path of an object, "" where there is none.
func text(object any, path ...string) string {
	for _, key := range path {
		m, ok := object.(map[string]any)
		if !ok {
			return ""
		}
		object = m[key]
	}
	word, _ := object.(string)
	return word
}

// named is the number of a container's port.
func named(pod map[string]any, name string) string {
	spec, _ := pod["spec"].(map[string]any)
	containers, _ := spec["containers"].([]any)
	for _, c := range containers {
		container, _ := c.(map[string]any)
		ports, _ := container["ports"].([]any)
		for _, p := range ports {
			if port, _ := p.(map[string]any); port["name"] == name {
				if number, ok := port["containerPort"].(int64); ok {
					return strconv.FormatInt(number, 10)
				}
			}
		}
	}
	return ""
}
