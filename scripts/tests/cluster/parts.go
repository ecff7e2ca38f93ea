package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	apps "k8s.io/api/apps/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"retort-cluster-test/load"
)

// settle is how long the load goes on after each part, for failures that come late.
const settle = 5 * time.Second

// during does something under load and returns the requests that were under way in any part of it.
func (s *suite) during(ctx context.Context, f func() error) ([]load.Result, error) {
	from := time.Now()
	err := f()
	select {
	case <-ctx.Done():
	case <-time.After(settle):
	}
	var results []load.Result
	for _, l := range s.loads {
		results = append(results, l.Between(from, time.Now())...)
	}
	return results, err
}

// none is the error of requests that failed where none may.
func none(results []load.Result, since time.Time) error {
	failed := load.Failed(results)
	if len(failed) == 0 {
		return nil
	}
	text := ""
	for _, r := range failed[:min(len(failed), 5)] {
		text += fmt.Sprintf("\n    %s begun %+.3f s, took %v: %v", r.Kind, r.Begun.Sub(since).Seconds(),
			r.Took.Round(time.Millisecond), r.Err)
	}
	return fmt.Errorf("%d of %d requests failed:%s", len(failed), len(results), text)
}

// figures are those of the requests of a part.
func figures(results []load.Result) string {
	kinds := map[string]int{}
	for _, r := range results {
		kinds[r.Kind]++
	}
	return fmt.Sprintf("%d requests (%d embedding, %d ranking, %d latent), %d failed, p50 %v, p99 %v, longest %v",
		len(results),
		kinds["embedding"], kinds["ranking"], kinds["latent"], len(load.Failed(results)),
		load.Quantile(results, 0.5).Round(time.Millisecond), load.Quantile(results, 0.99).Round(time.Millisecond),
		load.Quantile(results, 1).Round(time.Millisecond))
}

func (s *suite) updateGateway(ctx context.Context) error {
	return s.update(ctx, "gateway-update", "gateway")
}

func (s *suite) updateTriton(ctx context.Context) error {
	return s.update(ctx, "triton-update", "triton")
}

// update replaces all pods of a component, as `kubectl rollout restart` does; no request may fail.
func (s *suite) update(ctx context.Context, name, component string) error {
	before, err := s.ready(ctx, component)
	if err != nil {
		return err
	}
	began := time.Now()
	var took time.Duration
	results, err := s.during(ctx, func() error {
		err := s.rollout(ctx, component)
		took = time.Since(began)
		return err
	})
	if err != nil {
		return err
	}
	s.say(name, "%d pods replaced in %.0f s: %s", len(before), took.Seconds(), figures(results))
	return none(results, began)
}

// rollout restarts a component and waits until only new pods are left.
func (s *suite) rollout(ctx context.Context, component string) error {
	d, err := s.deployment(ctx, component)
	if err != nil {
		return err
	}
	old, err := s.names(ctx, component)
	if err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`,
		time.Now().Format(time.RFC3339Nano))
	client := s.cluster.client.AppsV1().Deployments(namespace)
	if _, err := client.Patch(ctx, d.Name, types.StrategicMergePatchType, []byte(patch),
		meta.PatchOptions{}); err != nil {
		return err
	}
	return eventually(ctx, 4*time.Minute, "the update of "+d.Name, func() error {
		now, err := s.names(ctx, component)
		if err != nil {
			return err
		}
		for name := range now {
			if old[name] {
				return fmt.Errorf("pod %s is still there", name)
			}
		}
		ready, err := s.ready(ctx, component)
		if err == nil && len(ready) < len(old) {
			err = fmt.Errorf("%d pods of %d are ready", len(ready), len(old))
		}
		return err
	})
}

func (s *suite) deployment(ctx context.Context, component string) (*apps.Deployment, error) {
	found, err := s.cluster.client.AppsV1().Deployments(namespace).List(ctx, meta.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, d := range found.Items {
		if d.Spec.Template.Labels[componentLabel] == component {
			return &d, nil
		}
	}
	return nil, fmt.Errorf("there is no Deployment of %s", component)
}

// killTriton ends a Triton with SIGKILL. Requests that it had are asked again of another by the gateway: none may fail.
func (s *suite) killTriton(ctx context.Context) error {
	killed, recovered, results, err := s.kill(ctx, "triton")
	if err != nil {
		return err
	}
	s.say("triton-kill", "ready again after %.1f s: %s", recovered.Seconds(), figures(results))
	return none(results, killed)
}

// killGateway ends a gateway with SIGKILL. The requests that it had fail, and no others.
func (s *suite) killGateway(ctx context.Context) error {
	killed, recovered, results, err := s.kill(ctx, "gateway")
	if err != nil {
		return err
	}
	var inFlight, later []load.Result
	for _, r := range load.Failed(results) {
		if r.Begun.After(killed) {
			later = append(later, r)
		} else {
			inFlight = append(inFlight, r)
		}
	}
	s.say("gateway-kill", "ready again after %.1f s, %d requests that were in flight on it failed, %d others: %s",
		recovered.Seconds(), len(inFlight), len(later), figures(results))
	return none(later, killed)
}

// kill ends one of at least two pods of a component and waits until as many are ready as before.
func (s *suite) kill(ctx context.Context, component string) (killed time.Time, recovered time.Duration, results []load.Result, err error) {
	pods, err := s.ready(ctx, component)
	if err != nil || len(pods) < 2 {
		return killed, 0, nil, fmt.Errorf("%d pods of %s are ready, two are needed: %w", len(pods), component, err)
	}
	results, err = s.during(ctx, func() (err error) {
		if killed, err = s.cluster.node.Kill(pods[0].Name); err != nil {
			return err
		}
		if err := s.replicas(ctx, component, len(pods)-1, 10*time.Second); err != nil {
			return err
		}
		err = s.replicas(ctx, component, len(pods), 2*time.Minute)
		recovered = time.Since(killed)
		return err
	})
	return killed, recovered, results, err
}

// updated is the model of which an operator publishes a new version.
const updated = "minilm_embed_qa"

// updateModel copies a new version into the shared repository; all Tritons have to serve it within 10 s.
func (s *suite) updateModel(ctx context.Context) error {
	const within = 10 * time.Second
	began := time.Now()
	var took time.Duration
	results, err := s.during(ctx, func() error {
		if err := publish(filepath.Join(s.models, updated)); err != nil {
			return err
		}
		began = time.Now()
		err := eventually(ctx, within, "version 2 is served by every Triton", func() error {
			return s.serves(ctx, updated, "2")
		})
		took = time.Since(began)
		return err
	})
	if err != nil {
		return err
	}
	s.say("model-update", "version 2 of %s was served everywhere %.1f s after it was there: %s", updated,
		took.Seconds(), figures(results))
	return none(results, began)
}

// publish adds version 2 of a model, which appears at once and whole: it is copied beside the repository's names first.
func publish(model string) error {
	hidden := filepath.Join(filepath.Dir(filepath.Dir(model)), "version-2")
	if err := os.CopyFS(hidden, os.DirFS(filepath.Join(model, "1"))); err != nil {
		return err
	}
	return os.Rename(hidden, filepath.Join(model, "2"))
}

// serves asks every Triton whether it serves a version of a model, and only that.
func (s *suite) serves(ctx context.Context, model, version string) error {
	pods, err := s.ready(ctx, "triton")
	if err != nil {
		return err
	}
	for _, p := range pods {
		text, err := get(ctx, p, "http", "/v2/models/"+model)
		if err != nil {
			return err
		}
		if !strings.Contains(text, `"versions":["`+version+`"]`) {
			return fmt.Errorf("%s: %s", p.Name, text)
		}
	}
	return nil
}
