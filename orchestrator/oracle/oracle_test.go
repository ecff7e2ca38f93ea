package oracle_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/orchestrator/objective"
	"retort/orchestrator/oracle"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
	"retort/orchestrator/triton/discovery"
	"retort/orchestrator/triton/tritontest"
)

// reading is an oracle of SMILES: score is the length of the text in bytes, none for more than 10; letters is the number
// of C. It fails for nitrogen, and never answers for sulphur.
func reading(tb testing.TB, name, shapes string) tritontest.Model {
	return tritontest.Model{
		Name: name,
		Config: tritontest.Config(tb, `name: "`+name+`" `+shapes+`
parameters { key: "retort_api" value { string_value: "oracle" } }
parameters { key: "unit" value { string_value: "2" } }`),
		Infer: func(ctx context.Context, r *triton.Request) (*triton.Response, error) {
			in, _ := tritontest.Input(r, "smiles")
			texts, err := in.Strings()
			if err != nil {
				return nil, err
			}
			lengths := make([]float32, len(texts))
			letters := make([]float32, len(texts))
			for i, text := range texts {
				if strings.Contains(text, "N") {
					return nil, errors.New("no nitrogen in this pocket")
				}
				if strings.Contains(text, "S") {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				lengths[i] = float32(len(text))
				letters[i] = float32(strings.Count(text, "C"))
				if len(text) > 10 {
					lengths[i] = float32(math.NaN())
				}
			}
			return &triton.Response{Outputs: []triton.Tensor{
				triton.Float32s("letters", in.Shape, letters), triton.Float32s("score", in.Shape, lengths)}}, nil
		}}
}

const (
	batched = `max_batch_size: 4
input [ { name: "smiles" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "letters" data_type: TYPE_FP32 dims: [ 1 ] }, { name: "score" data_type: TYPE_FP32 dims: [ 1 ] } ]`
	unbatched = `max_batch_size: 0
input [ { name: "smiles" data_type: TYPE_STRING dims: [ -1 ] } ]
output [ { name: "letters" data_type: TYPE_FP32 dims: [ -1 ] }, { name: "score" data_type: TYPE_FP32 dims: [ -1 ] } ]`
)

// counts are the molecules that oracles were asked for, by "oracle outcome".
type counts struct {
	mu  sync.Mutex
	all map[string]int
}

func (c *counts) count(oracle, outcome string, molecules int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[string]int{}
	}
	c.all[oracle+" "+outcome] += molecules
}

// serve opens the oracles of a server.
func serve(tb testing.TB, config oracle.Config, models ...tritontest.Model) *oracle.Oracles {
	tb.Helper()
	return serveCounted(tb, config, &counts{}, models...)
}

func serveCounted(tb testing.TB, config oracle.Config, c *counts, models ...tritontest.Model) *oracle.Oracles {
	tb.Helper()
	client := tritontest.Start(tb, models...).Client()
	registry := discovery.NewRegistry(client, discovery.Config{Every: 50 * time.Millisecond})
	tb.Cleanup(registry.Close)
	if err := registry.Refresh(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	open := oracle.Opener(client, config, batching.Options{}, c.count)
	return oracle.New(config, discovery.NewCatalog(registry, oracle.API, zerolog.Nop(), func(int) {}, open))
}

func read(tb testing.TB, smiles ...string) (molecules []*chem.Molecule) {
	tb.Helper()
	for _, text := range smiles {
		m, err := chem.Parse(text)
		if err != nil {
			tb.Fatal(err)
		}
		molecules = append(molecules, m)
	}
	return molecules
}

func TestAnOracleScoresSMILES(t *testing.T) {
	all := serve(t, oracle.Config{Timeout: time.Minute, Calls: 100}, reading(t, "length", batched), reading(t, "flat", unbatched)).All()
	if len(all) != 2 {
		t.Fatalf("%d oracles", len(all))
	}
	for _, one := range all {
		if one.Unit() != 2 || strings.Join(one.Outputs(), " ") != "score letters" {
			t.Errorf("%s: unit %v, outputs %v", one.Name(), one.Unit(), one.Outputs())
		}
		rows, err := one.Score(t.Context(), read(t, "OCC", "CCCCCCCCCCCCC", "C", "CC", "CCC", "CCCC"))
		if err != nil || len(rows) != 6 || rows[0][0] != 3 || rows[0][1] != 2 || !math.IsNaN(rows[1][0]) || rows[1][1] != 13 || rows[5][0] != 4 {
			t.Errorf("%s: %v %v", one.Name(), rows, err)
		}
	}
}

func TestAnOracleThatFails(t *testing.T) {
	one := serve(t, oracle.Config{Timeout: 50 * time.Millisecond, Calls: 100}, reading(t, "length", batched)).All()[0]
	_, err := one.Score(t.Context(), read(t, "CN"))
	if f := fault.As(err); err == nil || f.Kind != fault.Unavailable || !strings.Contains(f.Message, "the oracle length failed: ") ||
		!strings.Contains(f.Message, "no nitrogen") {
		t.Errorf("%+v", err)
	}
	_, err = one.Score(t.Context(), read(t, "CS"))
	if f := fault.As(err); err == nil || f.Kind != fault.Timeout || !strings.Contains(f.Message, "the oracle length did not score") {
		t.Errorf("%+v", err)
	}
}

func TestWhatAnOracleIsAskedForIsCounted(t *testing.T) {
	var c counts
	one := serveCounted(t, oracle.Config{Timeout: time.Minute, Calls: 100}, &c, reading(t, "length", batched)).All()[0]
	if _, err := one.Score(t.Context(), read(t, "C", "CC", "CCC", "CCCC", "CCCCCCCCCCCCC")); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Score(t.Context(), read(t, "CN", "CCN")); err == nil {
		t.Fatal("no error")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	want := map[string]int{"length scored": 4, "length none": 1, "length failed": 2}
	if !maps.Equal(c.all, want) {
		t.Errorf("counted %v, want %v", c.all, want)
	}
}

func TestTheCallsOfARequestAreBounded(t *testing.T) {
	oracles := serve(t, oracle.Config{Timeout: time.Minute, Calls: 100}, reading(t, "length", batched))
	spec := objective.Spec{Group: objective.Group{Combine: objective.Sum, Terms: []objective.Term{{Name: "QED", Weight: 1}, {Name: "length", Weight: 1}}}}
	opened, err := spec.Open(oracles.All())
	if err != nil {
		t.Fatal(err)
	}
	if err := oracles.Check(t.Context(), opened, 100); err != nil {
		t.Error(err)
	}
	f := fault.As(oracles.Check(t.Context(), opened, 101))
	if f == nil || f.Kind != fault.Invalid || f.Field() != "[1]" || !strings.Contains(f.Message, "101 molecules") {
		t.Errorf("%+v", f)
	}
}

func TestWhatIsNoOracle(t *testing.T) {
	for name, shapes := range map[string]string{
		"QED":     batched,
		"numbers": strings.ReplaceAll(batched, "TYPE_STRING", "TYPE_INT64"),
		"nothing": strings.ReplaceAll(batched, `"smiles"`, `"text"`),
		"counts":  strings.ReplaceAll(batched, "TYPE_FP32", "TYPE_INT32"),
	} {
		if all := serve(t, oracle.Config{Timeout: time.Minute, Calls: 100}, reading(t, name, shapes)).All(); len(all) != 0 {
			t.Errorf("%s is served", name)
		}
	}
}

// Oracles may be opened concurrently, which the race detector checks.
func TestConcurrentOpens(t *testing.T) {
	client := tritontest.Start(t, reading(t, "length", batched), reading(t, "flat", unbatched)).Client()
	open := oracle.Opener(client, oracle.Config{Timeout: time.Minute, Calls: 100}, batching.Options{}, func(string, string, int) {})
	var all sync.WaitGroup
	for _, name := range []string{"length", "flat"} {
		config, err := client.ModelConfig(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			all.Go(func() {
				if _, err := open(&triton.Model{Name: name, Config: config, Versions: []string{"1"}}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
}
