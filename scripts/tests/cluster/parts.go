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

// settle is how long the load continues after each part, to see late failures.
const settle = 5 * time.Second

// underLoad calls f under load and returns the requests that were in flight at any time during the call.
func (s *suite) underLoad(ctx context.Context, f func() error) ([]load.Result, error) {
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

// noneFailed returns an error if requests failed, with their start relative to the time since.
func noneFailed(results []load.Result, since time.Time) error {
	failed := load.Failed(results)
	if len(failed) == 0 {
		return nil
	}
	text := ""
	for _, r := range failed[:min(len(failed), 5)] {
		text += fmt.Sprintf("\n    %s begun %+.3f s, took %v: %v", r.Kind, r.Start.Sub(since).Seconds(),
			r.Took.Round(time.Millisecond), r.Err)
	}
	return fmt.Errorf("%d of %d requests failed:%s", len(failed), len(results), text)
}

// figures summarizes the requests of a part.
func figures(results []load.Result) string {
	kinds := map[string]int{}
	for _, r := range results {
		kinds[r.Kind]++
	}
	return fmt.Sprintf("%d requests (%d embedding, %d ranking, %d latent), %d failed, p50 %v, p99 %v, longest %v",
		len(results), kinds["embedding"], kinds["ranking"], kinds["latent"], len(load.Failed(results)),
		load.Quantile(results, 0.5).Round(time.Millisecond), load.Quantile(results, 0.99).Round(time.Millisecond),
		load.Quantile(results, 1).Round(time.Millisecond))
}

func (s *suite) updateGateway(ctx context.Context) error {
	return s.update(ctx, "gateway-update", "gateway")
}

func (s *suite) updateTriton(ctx context.Context) error {
	return s.update(ctx, "triton-update", "triton")
}

// update replaces all pods of a component. No request may fail.
func (s *suite) update(ctx context.Context, name, component string) error {
	before, err := s.readyPods(ctx, component)
	if err != nil {
		return err
	}
	began := time.Now()
	var took time.Duration
	results, err := s.underLoad(ctx, func() error {
		err := s.rollout(ctx, component)
		took = time.Since(began)
		return err
	})
	if err != nil {
		return err
	}
	s.print(name, "%d pods replaced in %.0f s: %s", len(before), took.Seconds(), figures(results))
	return noneFailed(results, began)
}

// rollout restarts a component as `kubectl rollout restart` does, and waits until only new pods are left.
func (s *suite) rollout(ctx context.Context, component string) error {
	d, err := s.deployment(ctx, component)
	if err != nil {
		return err
	}
	old, err := s.podNames(ctx, component)
	if err != nil {
		return err
	}
	const template = `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`
	patch := fmt.Sprintf(template, time.Now().Format(time.RFC3339Nano))
	client := s.cluster.client.AppsV1().Deployments(namespace)
	_, err = client.Patch(ctx, d.Name, types.StrategicMergePatchType, []byte(patch), meta.PatchOptions{})
	if err != nil {
		return err
	}
	return eventually(ctx, 4*time.Minute, "the update of "+d.Name, func() error {
		now, err := s.podNames(ctx, component)
		if err != nil {
			return err
		}
		for name := range now {
			if old[name] {
				return fmt.Errorf("pod %s is still there", name)
			}
		}
		ready, err := s.readyPods(ctx, component)
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

// killTriton ends a Triton with SIGKILL. The gateway retries its requests on another: none may fail.
func (s *suite) killTriton(ctx context.Context) error {
	killed, recovered, results, err := s.kill(ctx, "triton")
	if err != nil {
		return err
	}
	s.print("triton-kill", "ready again after %.1f s: %s", recovered.Seconds(), figures(results))
	return noneFailed(results, killed)
}

// killGateway ends a gateway with SIGKILL. Only the requests in flight on it may fail.
func (s *suite) killGateway(ctx context.Context) error {
	killed, recovered, results, err := s.kill(ctx, "gateway")
	if err != nil {
		return err
	}
	var inFlight, later []load.Result
	for _, r := range load.Failed(results) {
		if r.Start.After(killed) {
			later = append(later, r)
		} else {
			inFlight = append(inFlight, r)
		}
	}
	s.print("gateway-kill", "ready again after %.1f s, %d requests that were in flight on it failed, %d others: %s",
		recovered.Seconds(), len(inFlight), len(later), figures(results))
	return noneFailed(later, killed)
}

// kill ends one of at least two pods of a component and waits until as many are ready as before.
func (s *suite) kill(ctx context.Context, component string) (killed time.Time, recovered time.Duration,
	results []load.Result, err error) {
	pods, err := s.readyPods(ctx, component)
	if err != nil || len(pods) < 2 {
		return killed, 0, nil, fmt.Errorf("%d pods of %s are ready, two are needed: %w", len(pods), component, err)
	}
	results, err = s.underLoad(ctx, func() (err error) {
		if killed, err = s.cluster.node.Kill(pods[0].Name); err != nil {
			return err
		}
		if err := s.waitForPods(ctx, component, len(pods)-1, 10*time.Second); err != nil {
			return err
		}
		err = s.waitForPods(ctx, component, len(pods), 2*time.Minute)
		recovered = time.Since(killed)
		return err
	})
	return killed, recovered, results, err
}

// updatedModel is the model that gets a new version.
const updatedModel = "minilm_embed_qa"

// updateModel adds a new version to the shared repository. All Tritons must serve it within 10 s.
func (s *suite) updateModel(ctx context.Context) error {
	const within = 10 * time.Second
	began := time.Now()
	var took time.Duration
	results, err := s.underLoad(ctx, func() error {
		if err := publish(filepath.Join(s.models, updatedModel)); err != nil {
			return err
		}
		began = time.Now()
		err := eventually(ctx, within, "version 2 is served by every Triton", func() error {
			return s.allServe(ctx, updatedModel, "2")
		})
		took = time.Since(began)
		return err
	})
	if err != nil {
		return err
	}
	s.print("model-update", "version 2 of %s was served everywhere %.1f s after it was there: %s", updatedModel,
		took.Seconds(), figures(results))
	return noneFailed(results, began)
}

// publish adds version 2 of a model. It is copied outside the repository first, so that it appears complete.
func publish(model string) error {
	copied := filepath.Join(filepath.Dir(filepath.Dir(model)), "version-2")
	if err := os.CopyFS(copied, os.DirFS(filepath.Join(model, "1"))); err != nil {
		return err
	}
	return os.Rename(copied, filepath.Join(model, "2"))
}

// allServe returns an error unless every Triton serves only this version of a model.
func (s *suite) allServe(ctx context.Context, model, version string) error {
	pods, err := s.readyPods(ctx, "triton")
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
