package queue_test

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"retort/orchestrator/jobs/queue"
	"retort/orchestrator/jobs/queue/natstest"
)

// Two gateways share the tasks of a cluster of three nodes. Although one node stops meanwhile, every number has one
// answer and files stay complete.
func TestClusterLosesANode(t *testing.T) {
	const numbers = 200
	t.Parallel()
	nodes := natstest.Cluster(t, 3)
	config := queue.Config{Cluster: queue.Cluster{URL: natstest.URLs(nodes)}}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	first := joinCluster(ctx, t, config)
	second := joinCluster(ctx, t, config)
	content := bytes.Repeat([]byte("0123456789"), queue.PartSize/5)
	if _, err := first.files.Write(ctx, queue.Input, "file", bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	for n := range numbers {
		if err := first.tasks.Push(ctx, queue.Work, "job."+strconv.Itoa(n), []byte(strconv.Itoa(n))); err != nil {
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
		attempt, stop := context.WithTimeout(ctx, 2*time.Second)
		var err error
		if n, err = second.tasks.Waiting(attempt); err != nil {
			n = 1 // the cluster elects new leaders
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

// The number of replicas of existing streams follows the setting. The setting 0 raises it to three.
func TestReplicasFollowTheSetting(t *testing.T) {
	t.Parallel()
	config := queue.Config{Cluster: queue.Cluster{URL: natstest.URLs(natstest.Cluster(t, 3))}}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	for _, test := range []struct{ setting, want int }{{1, 1}, {0, 3}, {1, 1}, {3, 3}} {
		config.Cluster.Replicas = test.setting
		g := joinCluster(ctx, t, config)
		for g.tasks.Push(ctx, queue.Work, "job", nil) != nil { // while the cluster elects a leader
			if ctx.Err() != nil {
				t.Fatal("the tasks accept no writes")
			}
		}
		conn, err := nats.Connect(config.Cluster.URL[0])
		if err != nil {
			t.Fatal(err)
		}
		js, err := jetstream.New(conn)
		if err != nil {
			t.Fatal(err)
		}
		for streams := js.ListStreams(ctx); ; {
			info, more := <-streams.Info()
			if !more {
				break
			}
			if info.Config.Replicas != test.want {
				t.Errorf("setting %d: %s has %d replicas, want %d", test.setting, info.Config.Name,
					info.Config.Replicas, test.want)
			}
		}
		conn.Close()
	}
}

// gateway is one gateway's connection to the parts of a cluster.
type gateway struct {
	tasks   *queue.Tasks
	files   *queue.Files
	answers *queue.Answers
}

// joinCluster connects a gateway once the cluster has elected a leader.
func joinCluster(ctx context.Context, t *testing.T, config queue.Config) *gateway {
	t.Helper()
	e := open(t, config)
	for {
		g := &gateway{}
		var errs [4]error
		attempt, stop := context.WithTimeout(ctx, 5*time.Second) // without a leader no node answers
		g.tasks, errs[0] = queue.NewTasks(attempt, e, "work")
		g.files, errs[1] = queue.NewFiles(attempt, e, "texts")
		g.answers, errs[2] = queue.NewAnswers(attempt, e, "lines")
		_, errs[3] = queue.NewTable[record](attempt, e, "counts")
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
