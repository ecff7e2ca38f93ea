package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// The release of the chart.
const (
	release   = "retort"
	namespace = "default"
)

// helm installs or upgrades the unchanged chart and waits until its pods are ready.
func (s *suite) helm(ctx context.Context, verb, values string) error {
	file := filepath.Join(s.folder, "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, filepath.Join(s.binaries, "helm"), verb, release, s.chart,
		"--namespace", namespace, "--values", file, "--wait", "--timeout", "5m")
	command.Env = append(os.Environ(), "KUBECONFIG="+s.cluster.kubeconfig)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("helm %s: %w\n%s\n%s", verb, err, tail(string(output), 20), s.describePods(ctx))
	}
	return nil
}

// describePods describes the pods for the text of an error.
func (s *suite) describePods(ctx context.Context) (text string) {
	found, err := s.cluster.client.CoreV1().Pods(namespace).List(ctx, meta.ListOptions{})
	if err != nil {
		return err.Error()
	}
	for _, p := range found.Items {
		text += fmt.Sprintf("pod %s: %s %s\n", p.Name, p.Status.Phase, p.Status.Message)
		for _, c := range p.Status.ContainerStatuses {
			output, _ := os.ReadFile(s.cluster.node.Output(p.Name, c.Name))
			text += fmt.Sprintf("  container %s: ready %v, %d restarts; its last lines:\n%s\n", c.Name, c.Ready,
				c.RestartCount, tail(string(output), 12))
		}
	}
	return text
}

// readyPods returns the pods of a component that are ready and not ending.
func (s *suite) readyPods(ctx context.Context, component string) (pods []core.Pod, err error) {
	found, err := s.componentPods(ctx, component)
	if err != nil {
		return nil, err
	}
	for _, p := range found {
		for _, c := range p.Status.Conditions {
			if c.Type == core.PodReady && c.Status == core.ConditionTrue && p.DeletionTimestamp == nil {
				pods = append(pods, p)
			}
		}
	}
	return pods, nil
}

// waitForPods waits until a component has exactly count ready pods.
func (s *suite) waitForPods(ctx context.Context, component string, count int, within time.Duration) error {
	return eventually(ctx, within, fmt.Sprintf("%d pods of %s are ready", count, component), func() error {
		pods, err := s.readyPods(ctx, component)
		if err == nil && len(pods) != count {
			err = fmt.Errorf("%d are", len(pods))
		}
		return err
	})
}

// componentPods returns the pods of a component.
func (s *suite) componentPods(ctx context.Context, component string) ([]core.Pod, error) {
	selector := labels.Set{componentLabel: component}.String()
	found, err := s.cluster.client.CoreV1().Pods(namespace).List(ctx, meta.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	return found.Items, nil
}

// podNames returns the names of all pods of a component, including those that are ending.
func (s *suite) podNames(ctx context.Context, component string) (map[string]bool, error) {
	found, err := s.componentPods(ctx, component)
	names := map[string]bool{}
	for _, p := range found {
		names[p.Name] = true
	}
	return names, err
}

// componentLabel distinguishes pods of the gateway from those of Triton.
const componentLabel = "app.kubernetes.io/component"
