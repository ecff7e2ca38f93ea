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

// Proxy stands for kube-proxy with IPVS: it forwards each connection to a service's address to one of its ready pods,
// in turns. If no pod is ready, pods that are ending but still serve get the connection; without those it is refused.
type Proxy struct {
	ctx    context.Context
	slices list.EndpointSliceLister
	mu     sync.Mutex
	open   map[string]net.Listener // by address and port
	retry  bool                    // connects to another pod if one refuses
}

// StartProxy serves all services with addresses until ctx ends.
func StartProxy(ctx context.Context, factory informers.SharedInformerFactory) error {
	p := newProxy(ctx, factory)
	_, err := factory.Core().V1().Services().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { p.add(o.(*core.Service)) },
		DeleteFunc: func(o any) {
			if s, ok := o.(*core.Service); ok {
				p.remove(s)
			}
		},
	})
	return err
}

func newProxy(ctx context.Context, factory informers.SharedInformerFactory) *Proxy {
	return &Proxy{
		ctx: ctx, slices: factory.Discovery().V1().EndpointSlices().Lister(), open: map[string]net.Listener{},
	}
}

func (p *Proxy) add(s *core.Service) {
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

func address(s *core.Service, port core.ServicePort) string {
	return net.JoinHostPort(s.Spec.ClusterIP, strconv.Itoa(int(port.Port)))
}

func (p *Proxy) remove(s *core.Service) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, port := range s.Spec.Ports {
		if listener := p.open[address(s, port)]; listener != nil {
			_ = listener.Close()
			delete(p.open, address(s, port))
		}
	}
}

func (p *Proxy) listen(s *core.Service, port core.ServicePort) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[address(s, port)] != nil {
		return nil
	}
	listener, err := net.Listen("tcp", address(s, port))
	if err != nil {
		return err
	}
	p.open[address(s, port)] = listener
	context.AfterFunc(p.ctx, func() { _ = listener.Close() })
	p.accept(listener, s, port.Name)
	return nil
}

// connect forwards between a client and a pod until both have sent everything, or either is reset.
func (p *Proxy) connect(client *net.TCPConn, s *core.Service, port string, turn uint64) {
	defer client.Close()
	pod := p.dial(s, port, turn)
	if pod == nil {
		reset(client)
		return
	}
	defer pod.Close()
	var both sync.WaitGroup
	both.Go(func() { forward(pod, client) })
	both.Go(func() { forward(client, pod) })
	both.Wait()
}

// forward copies one direction, and passes on its end or reset.
func forward(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		reset(to)
		reset(from)
		return
	}
	_ = to.CloseWrite()
}

// reset closes with RST: the client sees a refused or reset connection.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}

// targets returns the addresses of the pods that take connections now.
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
				if isReady(e) {
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

func isReady(e discovery.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }

func portOf(slice *discovery.EndpointSlice, name string) int32 {
	for _, port := range slice.Ports {
		if port.Port != nil && (port.Name == nil && name == "" || port.Name != nil && *port.Name == name) {
			return *port.Port
		}
	}
	return 0
}
