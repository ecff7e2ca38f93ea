package node

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"retort-cluster-test/sandbox"
)

// probe runs the container's probes until ctx ends: first the startup probe, then the other two.
func (c *container) probe(ctx context.Context) {
	if p := c.spec.StartupProbe; p != nil {
		c.repeat(ctx, p, func(ok bool, failures int32) (done bool) {
			if !ok && failures >= cmp.Or(p.FailureThreshold, 3) {
				c.restart("startup")
				return true
			}
			return ok
		})
		c.update(ctx, func() {
			c.started = true
			c.ready = c.spec.ReadinessProbe == nil
		})
	}
	var both sync.WaitGroup
	if p := c.spec.LivenessProbe; p != nil {
		both.Go(func() {
			c.repeat(ctx, p, func(ok bool, failures int32) bool {
				if !ok && failures >= cmp.Or(p.FailureThreshold, 3) {
					c.restart("liveness")
					return true
				}
				return false
			})
		})
	}
	if p := c.spec.ReadinessProbe; p != nil {
		both.Go(func() {
			c.repeat(ctx, p, func(ok bool, failures int32) bool {
				if ok || failures >= cmp.Or(p.FailureThreshold, 3) {
					c.update(ctx, func() { c.ready = ok })
				}
				return false
			})
		})
	}
	both.Wait()
}

// update changes the state of a running container and reports it if it differs.
func (c *container) update(ctx context.Context, change func()) {
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	ready := c.ready
	started := c.started
	if c.process != nil {
		change()
	}
	changed := ready != c.ready || started != c.started
	c.mu.Unlock()
	if changed {
		c.pod.report(ctx)
	}
}

// restart ends a container whose probe has failed; keepRunning starts it again.
func (c *container) restart(probe string) {
	select {
	case <-c.pod.ending: // the container ends anyway
		return
	default:
	}
	log.Printf("pod %s, container %s: its %s probe failed, it is restarted", c.pod.object.Name, c.spec.Name, probe)
	c.signal(syscall.SIGTERM)
	go func() {
		time.Sleep(5 * time.Second)
		_ = c.kill()
	}()
}

// repeat runs a probe periodically until handle returns true or ctx ends. failures is the number of failures in a row.
func (c *container) repeat(ctx context.Context, p *core.Probe, handle func(ok bool, failures int32) (done bool)) {
	pause := time.Duration(p.InitialDelaySeconds) * time.Second
	var failures int32
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = time.Duration(cmp.Or(p.PeriodSeconds, 10)) * time.Second
		within, cancel := context.WithTimeout(ctx, time.Duration(cmp.Or(p.TimeoutSeconds, 1))*time.Second)
		err := c.check(within, p)
		cancel()
		if ctx.Err() != nil {
			return
		}
		failures++
		if err == nil {
			failures = 0
		}
		if handle(err == nil, failures) {
			return
		}
	}
}

// check runs a probe once.
func (c *container) check(ctx context.Context, p *core.Probe) error {
	switch {
	case p.HTTPGet != nil:
		return c.get(ctx, p.HTTPGet)
	case p.TCPSocket != nil:
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(c.pod.address, c.port(p.TCPSocket.Port)))
		if err != nil {
			return err
		}
		return conn.Close()
	case p.Exec != nil:
		return c.run(ctx, p.Exec.Command)
	}
	return fmt.Errorf("this node does not know the kind of probe")
}

// probeClient opens a connection for each probe, as a kubelet does.
var probeClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func (c *container) get(ctx context.Context, g *core.HTTPGetAction) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+net.JoinHostPort(c.pod.address, c.port(g.Port))+g.Path, nil)
	if err != nil {
		return err
	}
	for _, header := range g.HTTPHeaders {
		request.Header.Set(header.Name, header.Value)
	}
	answer, err := probeClient.Do(request)
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode < 200 || answer.StatusCode >= 400 {
		return fmt.Errorf("status %d", answer.StatusCode)
	}
	return nil
}

func (c *container) port(p intstr.IntOrString) string {
	for _, named := range c.spec.Ports {
		if p.Type == intstr.String && named.Name == p.StrVal {
			return strconv.Itoa(int(named.ContainerPort))
		}
	}
	return p.String()
}

// run runs a command within the container.
func (c *container) run(ctx context.Context, command []string) error {
	c.mu.Lock()
	process := c.process
	c.mu.Unlock()
	if process == nil {
		return fmt.Errorf("the container does not run")
	}
	words := sandbox.Inside(process.Process.Pid, command)
	if output, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}

// runHook runs a lifecycle hook.
func (c *container) runHook(ctx context.Context, hook *core.LifecycleHandler) error {
	switch {
	case hook.Sleep != nil:
		select {
		case <-ctx.Done():
		case <-c.exited:
		case <-time.After(time.Duration(hook.Sleep.Seconds) * time.Second):
		}
		return nil
	case hook.Exec != nil:
		return c.run(ctx, hook.Exec.Command)
	case hook.HTTPGet != nil:
		return c.get(ctx, hook.HTTPGet)
	}
	return fmt.Errorf("this node does not know the kind of hook")
}
