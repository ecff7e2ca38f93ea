// Package natstest runs NATS servers with JetStream for tests. Each has its own folder and port.
package natstest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// startTimeout is how long a node may take to start on a busy machine.
const startTimeout = time.Minute

// Cluster starts a cluster of nodes, which stop with the test.
func Cluster(t testing.TB, nodes int) (started []*server.Server) {
	t.Helper()
	var routes []*url.URL
	for _, port := range freePorts(t, nodes) {
		routes = append(routes, &url.URL{Scheme: "nats", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))})
	}
	for i := range nodes {
		o := options(t)
		o.ServerName = fmt.Sprintf("node-%d", i)
		o.Cluster.Name = "test"
		o.Cluster.Host = "127.0.0.1"
		o.Cluster.Port, _ = strconv.Atoi(routes[i].Port()) // it was formatted above
		o.Routes = routes
		started = append(started, start(t, o))
	}
	for _, s := range started {
		awaitReady(t, s)
	}
	return started
}

// Single starts a server that is in no cluster.
func Single(t testing.TB, port int) *server.Server {
	t.Helper()
	o := options(t)
	o.Port = port
	s := start(t, o)
	awaitReady(t, s)
	return s
}

// URLs returns the addresses of servers for clients.
func URLs(servers []*server.Server) (urls []string) {
	for _, s := range servers {
		urls = append(urls, s.ClientURL())
	}
	return urls
}

func options(t testing.TB) *server.Options {
	return &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: t.TempDir(), JetStreamMaxStore: 1 << 30, JetStreamMaxMemory: 1 << 26,
	}
}

func start(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	return s
}

func awaitReady(t testing.TB, s *server.Server) {
	t.Helper()
	if !s.ReadyForConnections(startTimeout) {
		t.Fatal("a node did not start in time")
	}
}

// freePorts returns n different ports without a listener. They are below the ephemeral ports: an outgoing connection
// could take one of those before its node does.
func freePorts(t testing.TB, n int) (ports []int) {
	t.Helper()
	const lowest, highest = 10_000, 32_000
	for tries := 0; len(ports) < n; tries++ {
		port := lowest + rand.IntN(highest-lowest)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			if tries == 1000 {
				t.Fatal(err)
			}
			continue
		}
		defer l.Close()
		ports = append(ports, port)
	}
	return ports
}
