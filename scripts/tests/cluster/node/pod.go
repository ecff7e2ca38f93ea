package node

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// pod is one pod and its processes.
type pod struct {
	node       *Node
	object     *core.Pod
	address    string
	folder     string
	network    *network
	containers []*container

	ending chan struct{} // closed when the pod must end
	grace  time.Duration // grace period, set before ending is closed
	once   sync.Once

	reporting   sync.Mutex // one status at a time
	initialized bool       // the init containers have succeeded
}

func (n *Node) newPod(object *core.Pod, number int) *pod {
	p := &pod{
		node:    n,
		object:  object,
		address: fmt.Sprintf("10.244.%d.%d", number/250, number%250+2),
		folder:  filepath.Join(n.config.Folder, "pods", string(object.UID)),
		ending:  make(chan struct{}),
	}
	for i := range object.Spec.Containers {
		p.containers = append(p.containers, &container{pod: p, spec: &object.Spec.Containers[i]})
	}
	return p
}

// end ends the pod with the grace period that the API gives it.
func (p *pod) end(object *core.Pod) {
	p.once.Do(func() {
		p.grace = 30 * time.Second
		if object.DeletionGracePeriodSeconds != nil {
			p.grace = time.Duration(*object.DeletionGracePeriodSeconds) * time.Second
		}
		close(p.ending)
	})
}

// run starts the pod, waits until it must end, and removes it.
func (p *pod) run(ctx context.Context) {
	if err := p.start(ctx); err != nil {
		log.Printf("pod %s: %v", p.object.Name, err)
		p.fail(ctx, err)
		p.wait(ctx)
	} else {
		var running sync.WaitGroup
		for _, c := range p.containers {
			running.Go(func() { c.keepRunning(ctx) })
		}
		p.wait(ctx)
		running.Wait()
	}
	p.network.close()
	_ = os.RemoveAll(p.folder)
	if ctx.Err() == nil {
		p.node.remove(ctx, p.object)
	}
}

func (p *pod) wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-p.ending:
	}
}

// start makes the pod's network and runs its init containers one after another.
func (p *pod) start(ctx context.Context) (err error) {
	for _, folder := range []string{p.folder, filepath.Join(p.node.config.Folder, "logs")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	if p.network, err = newNetwork(p.node.config, p.address); err != nil {
		return fmt.Errorf("network: %w", err)
	}
	for i := range p.object.Spec.InitContainers {
		c := &container{pod: p, spec: &p.object.Spec.InitContainers[i]}
		if err := c.runOnce(ctx); err != nil {
			return fmt.Errorf("init container %s: %w", c.spec.Name, err)
		}
	}
	p.initialized = true
	p.report(ctx)
	return nil
}

// fail reports that the pod could not start.
func (p *pod) fail(ctx context.Context, reason error) {
	p.patch(ctx, core.PodStatus{Phase: core.PodFailed, Message: reason.Error(), Reason: "Failed"})
}

// report writes the state of the containers into the pod's status.
func (p *pod) report(ctx context.Context) {
	p.reporting.Lock()
	defer p.reporting.Unlock()
	status := core.PodStatus{
		Phase: core.PodRunning, HostIP: p.node.config.Gateway, PodIP: p.address, PodIPs: []core.PodIP{{IP: p.address}},
	}
	ready := true
	for _, c := range p.containers {
		s := c.status()
		ready = ready && s.Ready
		status.ContainerStatuses = append(status.ContainerStatuses, s)
	}
	now := meta.Now()
	status.StartTime = &now
	for kind, holds := range map[core.PodConditionType]bool{
		core.PodScheduled: true, core.PodInitialized: p.initialized, core.ContainersReady: ready, core.PodReady: ready,
	} {
		value := core.ConditionFalse
		if holds {
			value = core.ConditionTrue
		}
		status.Conditions = append(status.Conditions,
			core.PodCondition{Type: kind, Status: value, LastTransitionTime: now})
	}
	p.patch(ctx, status)
}

func (p *pod) patch(ctx context.Context, status core.PodStatus) {
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": p.object.UID}, "status": status})
	if err != nil {
		log.Printf("pod %s: %v", p.object.Name, err)
		return
	}
	pods := p.node.client.CoreV1().Pods(p.object.Namespace)
	_, err = pods.Patch(ctx, p.object.Name, types.StrategicMergePatchType, text, meta.PatchOptions{}, "status")
	if err != nil && ctx.Err() == nil && !errors.IsNotFound(err) && !errors.IsConflict(err) {
		log.Printf("pod %s: its status is not reported: %v", p.object.Name, err)
	}
}
