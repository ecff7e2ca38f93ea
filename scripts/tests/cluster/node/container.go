package node

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"retort-cluster-test/sandbox"
)

// container is a container of a pod, across its restarts.
type container struct {
	pod  *pod
	spec *core.Container

	mu        sync.Mutex
	process   *exec.Cmd // nil while none runs
	exited    chan struct{}
	startedAt time.Time
	started   bool // the startup probe has succeeded
	ready     bool
	restarts  int32
	last      *core.ContainerStateTerminated
}

// The back-off between restarts, shorter than a kubelet's, since tests wait for it.
const (
	minPause   = time.Second
	maxPause   = 20 * time.Second
	resetAfter = time.Minute // a container that ran this long is restarted after minPause
)

// keepRunning runs the container and restarts it until its pod ends.
func (c *container) keepRunning(ctx context.Context) {
	pause := minPause
	for {
		if err := c.start(ctx); err != nil {
			log.Printf("pod %s, container %s: %v", c.pod.object.Name, c.spec.Name, err)
		} else {
			c.watch(ctx)
		}
		if c.startedAt.Add(resetAfter).Before(time.Now()) {
			pause = minPause
		}
		select {
		case <-ctx.Done():
			return
		case <-c.pod.ending:
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, maxPause)
	}
}

// watch probes a running container until it or its pod ends.
func (c *container) watch(ctx context.Context) {
	probing, stop := context.WithCancel(ctx)
	var probes sync.WaitGroup
	probes.Go(func() { c.probe(probing) })
	select {
	case <-c.exited:
	case <-ctx.Done():
		_ = c.kill()
	case <-c.pod.ending:
		c.terminate(ctx, c.pod.grace)
	}
	<-c.exited
	stop()
	probes.Wait()
	c.recordExit(ctx)
}

// start starts the container's process.
func (c *container) start(ctx context.Context) error {
	box, err := c.sandbox(ctx)
	if err != nil {
		return err
	}
	output, err := os.OpenFile(c.pod.node.Output(c.pod.object.Name, c.spec.Name), os.O_CREATE|os.O_APPEND|os.O_WRONLY,
		0o644)
	if err != nil {
		return err
	}
	defer output.Close()
	process, err := sandbox.Start(*box, output)
	if err != nil {
		return err
	}
	exited := make(chan struct{})
	c.mu.Lock()
	c.process = process
	c.exited = exited
	c.startedAt = time.Now()
	c.started = c.spec.StartupProbe == nil
	c.ready = c.started && c.spec.ReadinessProbe == nil
	c.mu.Unlock()
	go func() {
		_ = process.Wait()
		close(exited)
	}()
	c.pod.report(ctx)
	return nil
}

// runOnce runs an init container.
func (c *container) runOnce(ctx context.Context) error {
	if err := c.start(ctx); err != nil {
		return err
	}
	select {
	case <-c.exited:
	case <-c.pod.ending:
		_ = c.kill()
		<-c.exited
	}
	if code := c.process.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("it ended with status %d", code)
	}
	return nil
}

// sandbox describes the container for package sandbox.
func (c *container) sandbox(ctx context.Context) (*sandbox.Container, error) {
	image, err := c.pod.node.image(c.spec.Image)
	if err != nil {
		return nil, err
	}
	environment, err := c.environment(ctx, image)
	if err != nil {
		return nil, err
	}
	volumes, err := c.volumes(ctx)
	if err != nil {
		return nil, err
	}
	base, err := os.MkdirTemp(c.pod.folder, "layer-")
	if err != nil {
		return nil, err
	}
	entrypoint := image.Entrypoint
	if len(c.spec.Command) > 0 {
		entrypoint = expand(c.spec.Command, environment)
	}
	box := &sandbox.Container{
		Base: base, Network: c.pod.network.path(), Hostname: c.pod.object.Name,
		Mounts:      slices.Concat(image.Mounts, volumes),
		Files:       c.pod.files(),
		Directory:   c.spec.WorkingDir,
		Command:     slices.Concat(entrypoint, expand(c.spec.Args, environment)),
		Environment: environment,
		User:        image.User, Group: image.User,
	}
	c.secure(box)
	return box, nil
}

// secure applies the security contexts of the pod and of the container.
func (c *container) secure(box *sandbox.Container) {
	if s := c.pod.object.Spec.SecurityContext; s != nil {
		set(&box.User, s.RunAsUser)
		set(&box.Group, s.RunAsGroup)
	}
	if s := c.spec.SecurityContext; s != nil {
		set(&box.User, s.RunAsUser)
		set(&box.Group, s.RunAsGroup)
		box.ReadOnlyRoot = s.ReadOnlyRootFilesystem != nil && *s.ReadOnlyRootFilesystem
	}
}

func set(number *int, value *int64) {
	if value != nil {
		*number = int(*value)
	}
}

// files returns the files that a kubelet writes for all containers of a pod.
func (p *pod) files() map[string]string {
	domain := p.object.Namespace + ".svc.cluster.local"
	return map[string]string{
		"/etc/hosts":    "127.0.0.1 localhost\n" + p.address + " " + p.object.Name + "\n",
		"/etc/hostname": p.object.Name + "\n",
		"/etc/resolv.conf": "nameserver " + p.node.config.DNS +
			"\nsearch " + domain + " svc.cluster.local cluster.local\noptions ndots:5\n",
	}
}

// terminate ends the container as a kubelet does: preStop, SIGTERM, and SIGKILL after the grace period.
func (c *container) terminate(ctx context.Context, grace time.Duration) {
	deadline := time.Now().Add(grace)
	if c.spec.Lifecycle != nil && c.spec.Lifecycle.PreStop != nil {
		within, cancel := context.WithDeadline(ctx, deadline)
		if err := c.runHook(within, c.spec.Lifecycle.PreStop); err != nil {
			log.Printf("pod %s, container %s: preStop: %v", c.pod.object.Name, c.spec.Name, err)
		}
		cancel()
	}
	c.signal(syscall.SIGTERM)
	select {
	case <-c.exited:
	case <-ctx.Done():
		_ = c.kill()
	case <-time.After(max(time.Until(deadline), 2*time.Second)):
		log.Printf("pod %s, container %s: killed after its grace period of %v", c.pod.object.Name, c.spec.Name, grace)
		_ = c.kill()
	}
}

func (c *container) signal(number syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process != nil {
		_ = c.process.Process.Signal(number)
	}
}

func (c *container) kill() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return errors.New("the container does not run")
	}
	return c.process.Process.Kill()
}

// recordExit records how the process ended.
func (c *container) recordExit(ctx context.Context) {
	c.mu.Lock()
	state := c.process.ProcessState
	c.last = &core.ContainerStateTerminated{
		ExitCode: int32(state.ExitCode()), StartedAt: meta.NewTime(c.startedAt), FinishedAt: meta.Now(), Reason: "Completed",
	}
	if signal, ok := state.Sys().(syscall.WaitStatus); ok && signal.Signaled() {
		c.last.Signal = int32(signal.Signal())
		c.last.ExitCode = 128 + c.last.Signal
	}
	if c.last.ExitCode != 0 {
		c.last.Reason = "Error"
	}
	c.process = nil
	c.ready = false
	c.started = false
	c.restarts++
	c.mu.Unlock()
	matches, _ := filepath.Glob(filepath.Join(c.pod.folder, "layer-*"))
	for _, layer := range matches {
		_ = os.RemoveAll(layer)
	}
	c.pod.report(ctx)
}

// status returns the container's status for the API.
func (c *container) status() core.ContainerStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	started := c.started
	s := core.ContainerStatus{
		Name: c.spec.Name, Image: c.spec.Image, ImageID: c.spec.Image,
		Ready: c.ready, Started: &started, RestartCount: c.restarts,
	}
	if c.last != nil {
		s.LastTerminationState.Terminated = c.last
	}
	if c.process != nil {
		s.State.Running = &core.ContainerStateRunning{StartedAt: meta.NewTime(c.startedAt)}
	} else {
		s.State.Waiting = &core.ContainerStateWaiting{Reason: "ContainerCreating"}
	}
	return s
}
