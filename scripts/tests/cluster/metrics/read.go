package metrics

import (
	"cmp"
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
	core "k8s.io/api/core/v1"
)

// sample has the values of a ratio's counters at one time, and the ratio since the sample before.
type sample struct {
	at          time.Time
	numerator   float64
	denominator float64
	ratio       float64
}

// samples are the last ones, by address and metric.
type samples struct {
	mu    sync.Mutex
	byKey map[string]sample
}

// minInterval is the least time between two samples; until then the last ratio is repeated.
const minInterval = time.Second

// ratio is a metric computed from two counters: the increase of one divided by that of the other, times unit.
type ratio struct {
	numerator, denominator string
	unit                   float64
}

// ratios are the metrics of the chart's rules for prometheus-adapter (files/adapter-rules.yaml) that are not series.
var ratios = map[string]ratio{
	"nv_inference_queue_seconds": {"nv_inference_queue_duration_us", "nv_inference_request_success", 1e-6},
}

// read returns a metric of one pod: the sum of its series, or a ratio since the last sample, 0 if there is none.
func (s *samples) read(ctx context.Context, url, name string) (float64, error) {
	families, err := fetch(ctx, url)
	if err != nil {
		return 0, err
	}
	r, isRatio := ratios[name]
	if !isRatio {
		return sum(families, name)
	}
	numerator, err := sum(families, r.numerator)
	if err != nil {
		return 0, err
	}
	denominator, err := sum(families, r.denominator)
	if err != nil {
		return 0, err
	}
	return r.unit * s.ratio(url+" "+name, numerator, denominator), nil
}

// ratio returns the increase of numerator divided by that of denominator since the last sample.
func (s *samples) ratio(key string, numerator, denominator float64) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, known := s.byKey[key]
	if known && time.Since(old.at) < minInterval {
		return old.ratio
	}
	now := sample{at: time.Now(), numerator: numerator, denominator: denominator}
	if known && denominator > old.denominator && numerator >= old.numerator {
		now.ratio = (numerator - old.numerator) / (denominator - old.denominator)
	}
	s.byKey[key] = now
	return now.ratio
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
		return 0, fmt.Errorf("there is no metric %s", name)
	}
	for _, m := range family.Metric {
		total += m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue()
	}
	return total, nil
}

// endpoint returns the URL of a pod's metrics, at the port of its annotation or the first port with a usual name.
func endpoint(pod *core.Pod) (string, error) {
	if pod.Status.PodIP == "" || pod.DeletionTimestamp != nil {
		return "", errors.New("the pod has no address, or is ending")
	}
	port := pod.Annotations["prometheus.io/port"]
	for _, name := range []string{"metrics", "http", "http-metrics"} {
		port = cmp.Or(port, portNumber(pod, name))
	}
	if port == "" {
		return "", errors.New("the pod has no port for metrics")
	}
	return "http://" + pod.Status.PodIP + ":" + port + "/metrics", nil
}

// portNumber returns the number of a container's port by its name, or "".
func portNumber(pod *core.Pod, name string) string {
	for _, c := range pod.Spec.Containers {
		for _, port := range c.Ports {
			if port.Name == name {
				return strconv.Itoa(int(port.ContainerPort))
			}
		}
	}
	return ""
}
