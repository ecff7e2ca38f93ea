package network

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"strconv"
	"sync"

	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/client-go/informers"
	list "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

// Proxy stands for kube-proxy: whoever connects to the address of a service is connected to one of its ready pods, in
// turns, as kube-proxy with IPVS does. A connection stays with its pod. Where no pod is ready, those that are ending
// and still serve take connections, and where there is none at all the connection is refused.
type Proxy struct {
	ctx    context.Context
	slices list.EndpointSliceLister
	mu     sync.Mutex
	open   map[string]net.Listener // by address and port
	again  bool                    // a refused connection is tried with another pod
}

// NewProxy serves all services with addresses until ctx ends.
func NewProxy(ctx context.Context, factory informers.SharedInformerFactory) (*Proxy, error) {
	p := &Proxy{ctx: ctx, slices: factory.Discovery().V1().EndpointSlices().Lister(), open: map[string]net.Listener{}}
	_, err := factory.Core().V1().Services().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { p.see(o.(*core.Service)) },
		DeleteFunc: func(o any) {
			if s, ok := o.(*core.Service); ok {
				p.forget(s)
			}
		},
	})
	return p, err
}

func (p *Proxy) see(s *core.Service) {
	if s.Spec.ClusterIP == core.ClusterIPNone || s.Spec.ClusterIP == "" {
		return
	}
	for _, port := range s.Spec.Ports {
		if port.Protocol != core.ProtocolTCP {
			continue
		}
		if err := p.listen(s, port); err != nil {
			log.Printf("service %s: %v", s.Name, err)
		}
	}
}

func at(s *core.Service, port core.ServicePort) string {
	return net.JoinHostPort(s.Spec.ClusterIP, strconv.Itoa(int(port.Port)))
}

func (p *Proxy) forget(s *core.Service) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, port := range s.Spec.Ports {
		if listener := p.open[at(s, port)]; listener != nil {
			_ = listener.Close()
			delete(p.open, at(s, port))
		}
	}
}

func (p *Proxy) listen(s *core.Service, port core.ServicePort) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[at(s, port)] != nil {
		return nil
	}
	listener, err := net.Listen("tcp", at(s, port))
	if err != nil {
		return err
	}
	p.open[at(s, port)] = listener
	context.AfterFunc(p.ctx, func() { _ = listener.Close() })
	p.accept(listener, s, port.Name)
	return nil
}

// connect joins a client with a pod until both have said all, or either is reset.
func (p *Proxy) connect(client *net.TCPConn, s *core.Service, port string, turn uint64) {
	defer client.Close()
	pod := p.dial(s, port, turn)
	if pod == nil {
		reset(client)
		return
	}
	defer pod.Close()
	var both sync.WaitGroup
	both.Go(func() { splice(pod, client) })
	both.Go(func() { splice(client, pod) })
	both.Wait()
}

// splice copies until the end; that of one side is the end for the other, and a reset is a reset.
func splice(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		reset(to)
		reset(from)
		return
	}
	_ = to.CloseWrite()
}

// reset closes with RST, which a client sees as a connection that was refused or reset.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}

// targets are the addresses of the pods that take connections now.
func (p *Proxy) targets(s *core.Service, port string) []string {
	slices, err := p.slices.EndpointSlices(s.Namespace).List(selector(s.Name))
	if err != nil {
		return nil
	}
	var ready, serving []string
	for _, slice := range slices {
		number := portOf(slice, port)
		if number == 0 {
			continue
		}
		for _, e := range slice.Endpoints {
			for _, address := range e.Addresses {
				target := net.JoinHostPort(address, fmt.Sprint(number))
				if holds(e.Conditions.Ready) {
					ready = append(ready, target)
				} else if e.Conditions.Serving != nil && *e.Conditions.Serving {
					serving = append(serving, target)
				}
			}
		}
	}
	if len(ready) > 0 {
		return ready
	}
	return serving
}

func holds(condition *bool) bool { return condition == nil || *condition }

func portOf(slice *discovery.EndpointSlice, name string) int32 {
	for _, port := range slice.Ports {
		if port.Port != nil && (port.Name == nil && name == "" || port.Name != nil && *port.Name == name) {
			return *port.Port
		}
	}
	return 0
}
