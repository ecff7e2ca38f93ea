package triton_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/tritontest"
)

// fakeDNS is a DNS server in which all names have the same addresses, or no lookup succeeds.
type fakeDNS struct {
	mu        sync.Mutex
	addresses []string // IPv4; nil if lookups fail
	questions int      // received for IPv4 addresses
}

// useResolver makes d the resolver until the test ends.
func useResolver(t *testing.T, d *fakeDNS) {
	original := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go d.serve(server)
		return client, nil
	}}
	t.Cleanup(func() { net.DefaultResolver = original })
}

// serve answers over a stream connection, in which the length precedes each message (RFC 1035, 4.2.2).
func (d *fakeDNS) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(conn, question); err != nil {
			return
		}
		answer := d.answer(question)
		message := append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)
		if _, err := conn.Write(message); err != nil {
			return
		}
	}
}

// answer returns the DNS message (RFC 1035, 4.1) that answers a question, with a record for each address if the
// question is for A records.
func (d *fakeDNS) answer(question []byte) []byte {
	const (
		head       = 12
		typeA      = 1
		noError    = 0x8180 // a response, recursion desired and available
		serverFail = 0x8182
	)
	end := head + bytes.IndexByte(question[head:], 0) + 1
	kind := binary.BigEndian.Uint16(question[end:])
	d.mu.Lock()
	defer d.mu.Unlock()
	var records []string
	if kind == typeA {
		d.questions++
		records = d.addresses
	}
	flags := uint16(noError)
	if d.addresses == nil {
		flags = serverFail
	}
	message := slices.Clone(question[:2]) // the id
	for _, field := range []uint16{flags, 1, uint16(len(records)), 0, 0} {
		message = binary.BigEndian.AppendUint16(message, field)
	}
	message = append(message, question[head:end+4]...)
	for _, address := range records {
		message = append(message, 0xc0, head, 0, typeA, 0, 1, 0, 0, 0, 0, 0, net.IPv4len)
		message = append(message, net.ParseIP(address).To4()...)
	}
	return message
}

// change changes the addresses and waits until they have been looked up and used.
func (d *fakeDNS) change(t *testing.T, addresses ...string) {
	t.Helper()
	d.mu.Lock()
	d.addresses = addresses
	before := d.questions
	d.mu.Unlock()
	// A lookup starts after the result of the one before has been used.
	tritontest.Eventually(t, "the name is looked up twice", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.questions > before+lookupTries
	})
}

// lookupTries is above the number of questions of one failing lookup.
const lookupTries = 20

// The replicas follow the addresses of a name, and stay while it cannot be looked up.
func TestReplicasFollowDNS(t *testing.T) {
	s := tritontest.Start(t, tritontest.Echo(t))
	_, port, err := net.SplitHostPort(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	dns := &fakeDNS{addresses: []string{"127.0.0.1"}}
	useResolver(t, dns)
	c := tritontest.Dial(t, triton.Config{
		URLs:         []string{"dns:///triton.example.:" + port},
		ResolveEvery: time.Millisecond,
	})
	replicas := func() (addresses []string) {
		for _, r := range triton.States(c) {
			addresses = append(addresses, r.Address)
		}
		return addresses
	}
	first := "127.0.0.1:" + port
	second := "127.0.0.2:" + port
	for _, step := range []struct {
		name            string
		addresses, want []string
	}{
		{"the same address", []string{"127.0.0.1"}, []string{first}},
		{"no answer", nil, []string{first}},
		{"two addresses", []string{"127.0.0.1", "127.0.0.2"}, []string{first, second}},
		{"no answer again", nil, []string{first, second}},
		{"the first address alone", []string{"127.0.0.1"}, []string{first}},
	} {
		dns.change(t, step.addresses...)
		got := replicas()
		slices.Sort(got)
		if !slices.Equal(got, step.want) {
			t.Errorf("%s: %v, want %v", step.name, got, step.want)
		}
		if _, err := c.Infer(t.Context(), echoRequest()); err != nil && len(step.want) == 1 {
			t.Errorf("%s: %v", step.name, err)
		}
	}
}
