package node

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"sync"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"retort-cluster-test/sandbox"
)

// probe runs the container's probes until ctx ends: first the one for its start, then the other two.
func (c *container) probe(ctx context.Context) {
	if p := c.spec.StartupProbe; p != nil {
		c.repeat(ctx, p, func(well bool, failures int32) (done bool) {
			if !well && failures >= threshold(p.FailureThreshold, 3) {
				c.restart("startup")
				return true
			}
			return well
		})
		c.become(ctx, func() { c.started = true; c.ready = c.spec.ReadinessProbe == nil })
	}
	var both sync.WaitGroup
	if p := c.spec.LivenessProbe; p != nil {
		both.Go(func() {
			c.repeat(ctx, p, func(well bool, failures int32) bool {
				if !well && failures >= threshold(p.FailureThreshold, 3) {
					c.restart("liveness")
					return true
				}
				return false
			})
		})
	}
	if p := c.spec.ReadinessProbe; p != nil {
		both.Go(func() {
			c.repeat(ctx, p, func(well bool, failures int32) bool {
				if well || failures >= threshold(p.FailureThreshold, 3) {
					c.become(ctx, func() { c.ready = well })
				}
				return false
			})
		})
	}
	both.Wait()
}

// become changes the state and tells of it, where it is another one.
func (c *container) become(ctx context.Context, change func()) {
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
		c.pod.tell(ctx)
	}
}

// restart ends a container whose probe has failed; it is started again as after any end.
func (c *container) restart(probe string) {
	select {
	case <-c.pod.ending: // it ends anyway
		return
	default:
	}
	log.Printf("pod %s, container %s: its %s probe failed, it is started again", c.pod.object.Name, c.spec.Name, probe)
	c.signal(15)
	go func() {
		time.Sleep(5 * time.Second)
		_ = c.kill()
	}()
}

func threshold(value, standard int32) int32 {
	if value == 0 {
		return standard
	}
	return value
}

// repeat asks a probe in its period until see says that this is enough or ctx ends. failures counts those in a row.
func (c *container) repeat(ctx context.Context, p *core.Probe, see func(well bool, failures int32) (done bool)) {
	pause := time.Duration(p.InitialDelaySeconds) * time.Second
	var failures int32
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = time.Duration(threshold(p.PeriodSeconds, 10)) * time.Second
		asking, cancel := context.WithTimeout(ctx, time.Duration(threshold(p.TimeoutSeconds, 1))*time.Second)
		err := c.check(asking, p)
		cancel()
		if ctx.Err() != nil {
			return
		}
		failures++
		if err == nil {
			failures = 0
		}
		if see(err == nil, failures) {
			return
		}
	}
}

// check asks once.
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
	return fmt.Errorf("a kind of probe that this node does not know")
}

// prober asks each time over a connection of its own, as a kubelet does.
var prober = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func (c *container) get(ctx context.Context, g *core.HTTPGetAction) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+net.JoinHostPort(c.pod.address, c.port(g.Port))+g.Path, nil)
	if err != nil {
		return err
	}
	for _, header := range g.HTTPHeaders {
		request.Header.Set(header.Name, header.Value)
	}
	answer, err := prober.Do(request)
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

// act does what a lifecycle hook asks for.
func (c *container) act(ctx context.Context, hook *core.LifecycleHandler) error {
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
	return fmt.Errorf("a kind of hook that this node does not know")
}
