// Package natstest runs NATS servers with JetStream for tests, each on a folder and a port of its own.
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

// patience is how long a node may take to start on a busy machine.
const patience = time.Minute

// Cluster starts so many servers that are one cluster. They end with the test.
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
		o.Cluster.Port, _ = strconv.Atoi(routes[i].Port()) // made of a number
		o.Routes = routes
		started = append(started, start(t, o))
	}
	for _, s := range started {
		await(t, s)
	}
	return started
}

// Single starts a server that is in no cluster, on a port.
func Single(t testing.TB, port int) *server.Server {
	t.Helper()
	o := options(t)
	o.Port = port
	s := start(t, o)
	await(t, s)
	return s
}

// URLs are where clients find servers.
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

func await(t testing.TB, s *server.Server) {
	t.Helper()
	if !s.ReadyForConnections(patience) {
		t.Fatal("a node does not start")
	}
}

// freePorts are ports that nobody listens on now, all different. They lie below those that systems give to outgoing
// connections, of which one may otherwise take a port before its node does.
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
