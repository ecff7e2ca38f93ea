// Package network has a cluster's DNS and kube-proxy, and a load balancer for outside clients. All follow the API, as
// the real ones do.
package network

import (
	"context"
	"net"
	"strings"

	"github.com/miekg/dns"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	corelist "k8s.io/client-go/listers/core/v1"
	list "k8s.io/client-go/listers/discovery/v1"
)

// ttl is the time to live of answers in seconds, as of CoreDNS's kubernetes plugin.
const ttl = 5

// zone is the suffix of the names of services.
const zone = ".svc.cluster.local."

// server resolves the names of services: to the service's address or, if it is headless, to the addresses of its pods,
// without those that are not ready unless the service publishes them.
type server struct {
	services corelist.ServiceLister
	slices   list.EndpointSliceLister
}

// ServeDNS answers names on an address until ctx ends.
func ServeDNS(ctx context.Context, factory informers.SharedInformerFactory, address string) error {
	d := &server{
		services: factory.Core().V1().Services().Lister(),
		slices:   factory.Discovery().V1().EndpointSlices().Lister(),
	}
	conn, err := net.ListenPacket("udp", address)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	for _, server := range []*dns.Server{{PacketConn: conn, Handler: d}, {Listener: listener, Handler: d}} {
		go func() { _ = server.ActivateAndServe() }()
		context.AfterFunc(ctx, func() { _ = server.Shutdown() })
	}
	return nil
}

// ServeDNS answers one question.
func (d *server) ServeDNS(w dns.ResponseWriter, question *dns.Msg) {
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
			header := dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: ttl}
			answer.Answer = append(answer.Answer, &dns.A{Hdr: header, A: net.ParseIP(address)})
		}
	}
	_ = w.WriteMsg(answer)
}

// lookup returns the addresses of a name such as "triton.default.svc.cluster.local.".
func (d *server) lookup(name string) (addresses []string, known bool) {
	service, ok := strings.CutSuffix(name, zone)
	if !ok {
		return nil, false
	}
	service, namespace, _ := strings.Cut(service, ".")
	s, err := d.services.Services(namespace).Get(service)
	if err != nil {
		return nil, false
	}
	if s.Spec.ClusterIP != core.ClusterIPNone {
		return []string{s.Spec.ClusterIP}, true
	}
	for _, e := range endpoints(d.slices, s) {
		if s.Spec.PublishNotReadyAddresses || isReady(e) {
			addresses = append(addresses, e.Addresses...)
		}
	}
	return addresses, len(addresses) > 0
}

// endpoints returns all endpoints of a service.
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
