// Package network stands for a cluster's DNS and for kube-proxy: both follow the API as the real ones do.
package network

import (
	"context"
	"net"
	"strings"
	"sync"

	"github.com/miekg/dns"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	corelist "k8s.io/client-go/listers/core/v1"
	list "k8s.io/client-go/listers/discovery/v1"
)

// TTL is how long an answer may be kept, in seconds: that of CoreDNS's kubernetes plugin.
const TTL = 5

// zone is what the names of services end with.
const zone = ".svc.cluster.local."

// DNS answers for the names of services: the address of one that has an address, and those of the pods behind one that
// has none (a headless service), ready ones only unless it publishes others too.
type DNS struct {
	services corelist.ServiceLister
	slices   list.EndpointSliceLister
	mu       sync.Mutex
	Queries  map[string]int // by name, for those that exist
}

// NewDNS serves on an address until ctx ends.
func NewDNS(ctx context.Context, factory informers.SharedInformerFactory, address string) (*DNS, error) {
	d := &DNS{
		services: factory.Core().V1().Services().Lister(),
		slices:   factory.Discovery().V1().EndpointSlices().Lister(),
		Queries:  map[string]int{},
	}
	conn, err := net.ListenPacket("udp", address)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	for _, server := range []*dns.Server{{PacketConn: conn, Handler: d}, {Listener: listener, Handler: d}} {
		go func() { _ = server.ActivateAndServe() }()
		context.AfterFunc(ctx, func() { _ = server.Shutdown() })
	}
	return d, nil
}

// ServeDNS answers one question.
func (d *DNS) ServeDNS(w dns.ResponseWriter, question *dns.Msg) {
	answer := new(dns.Msg)
	answer.SetReply(question)
	answer.Authoritative = true
	q := question.Question[0]
	addresses, known := d.lookup(strings.ToLower(q.Name))
	if !known {
		answer.Rcode = dns.RcodeNameError
	}
	if q.Qtype == dns.TypeA {
		for _, address := range addresses {
			answer.Answer = append(answer.Answer, &dns.A{
				Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET,
					Ttl: TTL}, A: net.ParseIP(address),
			})
		}
	}
	_ = w.WriteMsg(answer)
}

// lookup returns the addresses of a name such as "triton.default.svc.cluster.local.".
func (d *DNS) lookup(name string) (addresses []string, known bool) {
	service, ok := strings.CutSuffix(name, zone)
	if !ok {
		return nil, false
	}
	labelled := strings.Split(service, ".")
	if len(labelled) != 2 {
		return nil, false
	}
	s, err := d.services.Services(labelled[1]).Get(labelled[0])
	if err != nil {
		return nil, false
	}
	d.mu.Lock()
	d.Queries[service]++
	d.mu.Unlock()
	if s.Spec.ClusterIP != core.ClusterIPNone {
		return []string{s.Spec.ClusterIP}, true
	}
	for _, e := range endpoints(d.slices, s) {
		if s.Spec.PublishNotReadyAddresses || e.Conditions.Ready == nil || *e.Conditions.Ready {
			addresses = append(addresses, e.Addresses...)
		}
	}
	return addresses, len(addresses) > 0
}

// endpoints are all of a service's.
func endpoints(slices list.EndpointSliceLister, s *core.Service) (all []discovery.Endpoint) {
	found, err := slices.EndpointSlices(s.Namespace).List(selector(s.Name))
	if err != nil {
		return nil
	}
	for _, slice := range found {
		all = append(all, slice.Endpoints...)
	}
	return all
}

func selector(service string) labels.Selector {
	return labels.SelectorFromSet(labels.Set{discovery.LabelServiceName: service})
}
