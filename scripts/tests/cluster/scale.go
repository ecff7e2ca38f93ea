package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"retort-cluster-test/load"
)

// maxGateways is the most gateways that the autoscaler may start.
const maxGateways = 3

// scale makes requests wait, so that the autoscaler takes the gateway from one pod to three, and then back. No request
// may fail, and each of the three pods must get its share.
func (s *suite) scale(ctx context.Context) error {
	if err := s.helm(ctx, "upgrade", s.values(true)); err != nil {
		return err
	}
	if err := s.waitForPods(ctx, "gateway", 1, 2*time.Minute); err != nil {
		return err
	}
	began := time.Now()
	var out, in time.Duration
	var shares []float64
	results, err := s.underLoad(ctx, func() error {
		more := load.Start(ctx, load.Options{Address: outside, Clients: 24, Reuse: 3, Kinds: load.Kinds[:2]})
		s.loads = append(s.loads, more)
		defer more.Stop()
		if err := s.waitForPods(ctx, "gateway", maxGateways, 2*time.Minute); err != nil {
			return fmt.Errorf("%w\n%s", err, s.describeAutoscalers(ctx))
		}
		out = time.Since(began)
		var err error
		if shares, err = s.shares(ctx, 15*time.Second); err != nil {
			return err
		}
		more.Stop()
		began := time.Now()
		err = s.waitForPods(ctx, "gateway", 1, 3*time.Minute)
		in = time.Since(began)
		return err
	})
	if err != nil {
		return err
	}
	s.print("scale-out-and-in", "1 to %d pods in %.0f s, shares of requests %.3f, back to 1 in %.0f s: %s",
		maxGateways, out.Seconds(), shares, in.Seconds(), figures(results))
	for _, share := range shares {
		if share*maxGateways < 0.9 || share*maxGateways > 1.1 {
			err = fmt.Errorf("the shares differ by more than 10 %% from each other's mean: %.3f", shares)
		}
	}
	return errors.Join(err, noneFailed(results, began))
}

// shares returns the share of each gateway in the answers during a period.
func (s *suite) shares(ctx context.Context, period time.Duration) ([]float64, error) {
	select { // until connections that are older than the new pods are renewed
	case <-ctx.Done():
	case <-time.After(connectionAge + 5*time.Second):
	}
	pods, err := s.readyPods(ctx, "gateway")
	if err != nil {
		return nil, err
	}
	before, err := countAnswers(ctx, pods)
	if err != nil {
		return nil, err
	}
	time.Sleep(period)
	after, err := countAnswers(ctx, pods)
	if err != nil {
		return nil, err
	}
	var total float64
	shares := make([]float64, len(pods))
	for i := range pods {
		shares[i] = after[i] - before[i]
		total += shares[i]
	}
	for i := range shares {
		shares[i] /= total
	}
	return shares, nil
}

// countAnswers returns the number of POST requests that each gateway has answered so far.
func countAnswers(ctx context.Context, pods []core.Pod) (counts []float64, err error) {
	for _, p := range pods {
		text, err := get(ctx, p, "http", "/metrics")
		if err != nil {
			return nil, err
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(text))
		if err != nil {
			return nil, err
		}
		count := 0.0
		for _, m := range families["retort_http_requests_total"].GetMetric() {
			for _, l := range m.Label {
				if l.GetName() == "method" && l.GetValue() == http.MethodPost {
					count += m.GetCounter().GetValue()
				}
			}
		}
		counts = append(counts, count)
	}
	return counts, nil
}

// get requests a path of one of a pod's named ports.
func get(ctx context.Context, p core.Pod, port, path string) (string, error) {
	number := ""
	for _, named := range p.Spec.Containers[0].Ports {
		if named.Name == port {
			number = fmt.Sprint(named.ContainerPort)
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+net.JoinHostPort(p.Status.PodIP, number)+path, nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}

// describeAutoscalers describes the autoscalers for the text of an error.
func (s *suite) describeAutoscalers(ctx context.Context) (text string) {
	found, err := s.cluster.client.AutoscalingV2().HorizontalPodAutoscalers(namespace).List(ctx, meta.ListOptions{})
	if err != nil {
		return err.Error()
	}
	for _, a := range found.Items {
		text += fmt.Sprintf("autoscaler %s: %d pods, wanted %d\n", a.Name, a.Status.CurrentReplicas,
			a.Status.DesiredReplicas)
		for _, c := range a.Status.Conditions {
			text += fmt.Sprintf("  %s %s: %s\n", c.Type, c.Status, c.Message)
		}
	}
	return text
}
