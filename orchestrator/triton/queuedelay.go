package triton

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "retort/orchestrator/triton/inferencepb"
)

// delayRecheck is how often a model's delay is looked at again although nothing about the model seems to have changed: a
// load of the same version with another configuration does not show in a server's index.
const delayRecheck = time.Minute

// queueDelay gives every model that batches dynamically the same maximum queue delay, on every replica: a model with
// another one is loaded again with its own configuration and that delay (a configuration override; files stay as they
// are). The old form goes on serving meanwhile. A server that does not take loads (--model-control-mode=poll or none) is
// said so in the log, and keeps its delays.
type queueDelay struct {
	registry *Registry
	delay    time.Duration
	// seen is what each replica had when its models were last looked at, by address and model.
	seen map[string]map[string]delaySeen
}

// delaySeen is one look at a model of a replica.
type delaySeen struct {
	model *Model
	at    time.Time
}

func (q *queueDelay) watch(ctx context.Context) {
	ticker := time.NewTicker(q.registry.config.Every)
	defer ticker.Stop()
	for {
		q.look(ctx, time.Now())
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// look sets the delay of what is new or changed, one model after the other.
func (q *queueDelay) look(ctx context.Context, now time.Time) {
	snapshot := q.registry.Snapshot()
	if snapshot.Stale {
		return
	}
	seen := make(map[string]map[string]delaySeen)
	for _, r := range q.registry.client.pool.live() {
		seen[r.address] = make(map[string]delaySeen)
		serves := r.serves.Load()
		for _, m := range snapshot.Models {
			if ctx.Err() != nil || serves == nil || !(*serves)[m.Name] {
				continue
			}
			last := q.seen[r.address][m.Name]
			if last.model != m || now.Sub(last.at) >= delayRecheck {
				last = delaySeen{m, now}
				q.set(ctx, r, m.Name)
			}
			seen[r.address][m.Name] = last
		}
	}
	q.seen = seen
}

// delayPatience bounds one load; a large model's engine may be built by it.
const delayPatience = 10 * time.Minute

// set loads a model again where its delay is another.
func (q *queueDelay) set(ctx context.Context, r *replica, name string) {
	ctx, cancel := context.WithTimeout(ctx, delayPatience)
	defer cancel()
	log := q.registry.config.Logger.With().Str("replica", r.address).Str("model", name).Dur("delay", q.delay).Logger()
	answer, err := r.service.ModelConfig(ctx, &pb.ModelConfigRequest{Name: name})
	if err != nil {
		return // It has gone, or is asked again when it changes.
	}
	override, err := overrideDelay(answer.GetConfig(), q.delay)
	if err == nil && override != "" {
		_, err = r.service.RepositoryModelLoad(ctx, &pb.RepositoryModelLoadRequest{ModelName: name, Parameters: map[string]*pb.ModelRepositoryParameter{
			"config": {ParameterChoice: &pb.ModelRepositoryParameter_StringParam{StringParam: override}},
		}})
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		log.Warn().Err(err).Msg("the maximum queue delay was not set")
	case override != "":
		log.Info().Msg("maximum queue delay set")
	}
}

// overrideDelay returns the configuration in JSON with the delay in it, "" where there is nothing to change. A
// configuration with fields that this program does not know cannot be written again without losing them.
func overrideDelay(config *pb.ModelConfig, delay time.Duration) (string, error) {
	wanted := uint64(delay.Microseconds())
	if config.GetDynamicBatching() == nil || config.GetDynamicBatching().MaxQueueDelayMicroseconds == wanted {
		return "", nil
	}
	err := protorange.Range(config.ProtoReflect(), func(p protopath.Values) error {
		if m, ok := p.Index(-1).Value.Interface().(protoreflect.Message); ok && len(m.GetUnknown()) > 0 {
			return fmt.Errorf("its configuration has fields that are not known here (%s)", p.Path)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	changed := proto.Clone(config).(*pb.ModelConfig)
	changed.GetDynamicBatching().MaxQueueDelayMicroseconds = wanted
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(changed)
	return string(text), err
}
