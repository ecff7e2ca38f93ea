package queue_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"retort/orchestrator/jobs/queue"
)

// node starts one of three NATS servers that are a cluster of their own.
func node(t *testing.T, i int, routes []int) *server.Server {
	t.Helper()
	o := &server.Options{
		ServerName: fmt.Sprintf("node-%d", i), Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: t.TempDir(), JetStreamMaxStore: 1 << 30, JetStreamMaxMemory: 1 << 26,
	}
	o.Cluster.Name = "test"
	o.Cluster.Host = "127.0.0.1"
	o.Cluster.Port = routes[i]
	for _, port := range routes {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))})
	}
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

func freePorts(t *testing.T, n int) (ports []int) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// Two gateways share the tasks of a cluster of three nodes, one of which ends meanwhile: every number has one answer, and
// files stay whole.
func TestClusterLosesANode(t *testing.T) {
	const numbers = 200
	routes := freePorts(t, 3)
	var nodes []*server.Server
	config := queue.Config{}
	for i := range 3 {
		s := node(t, i, routes)
		nodes = append(nodes, s)
	}
	for _, s := range nodes {
		if !s.ReadyForConnections(30 * time.Second) {
			t.Fatal("a node does not start")
		}
		config.Cluster.URL = append(config.Cluster.URL, s.ClientURL())
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	first := sharing(ctx, t, config)
	second := sharing(ctx, t, config)
	content := bytes.Repeat([]byte("0123456789"), queue.PartSize/5)
	if _, err := first.files.Write(ctx, "file", bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	for n := range numbers {
		if err := first.tasks.Push(ctx, "job."+strconv.Itoa(n), []byte(strconv.Itoa(n))); err != nil {
			t.Fatal(err)
		}
	}
	working, done := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	var kill sync.Once
	for _, g := range []*gateway{first, second} {
		workers.Go(func() {
			g.tasks.Work(working, 2, func(ctx context.Context, task queue.Task) error {
				n, err := strconv.Atoi(string(task.Data))
				if err != nil {
					return err
				}
				if n == numbers/4 {
					kill.Do(nodes[1].Shutdown)
				}
				err = g.answers.Put(ctx, "job", n, task.Data)
				if errors.Is(err, queue.ErrExists) {
					return nil
				}
				return err
			})
		})
	}
	for n := 1; n > 0 && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		try, stop := context.WithTimeout(ctx, 2*time.Second)
		var err error
		if n, err = second.tasks.Waiting(try); err != nil {
			n = 1 // the cluster chooses new leaders
		}
		stop()
	}
	done()
	workers.Wait()
	for n := range numbers {
		got, err := second.answers.Get(ctx, "job", n)
		if err != nil || string(got) != strconv.Itoa(n) {
			t.Errorf("%d: %q, %v", n, got, err)
		}
	}
	slice, err := second.files.Slice(ctx, "file", 3, len(content)-3)
	if err != nil || !bytes.Equal(slice, content[3:]) {
		t.Errorf("the file: %d bytes, %v", len(slice), err)
	}
}

// gateway is what one gateway has of the cluster.
type gateway struct {
	tasks   *queue.Tasks
	files   *queue.Files
	answers *queue.Answers
}

// sharing connects one, as soon as the cluster has chosen its leader.
func sharing(ctx context.Context, t *testing.T, config queue.Config) *gateway {
	t.Helper()
	e := open(t, config)
	for {
		g := &gateway{}
		var errs [3]error
		try, stop := context.WithTimeout(ctx, 5*time.Second) // without a leader nobody answers
		g.tasks, errs[0] = queue.NewTasks(try, e, "work")
		g.files, errs[1] = queue.NewFiles(try, e, "texts")
		g.answers, errs[2] = queue.NewAnswers(try, e, "lines")
		stop()
		err := errors.Join(errs[:]...)
		if err == nil {
			return g
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}
