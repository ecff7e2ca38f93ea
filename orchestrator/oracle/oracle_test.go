package oracle_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"
	"sync/atomic"
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

// lengthModel is an oracle of SMILES. Its score is the length in bytes, NaN if it is above 10; letters is the number of
// C. It fails for nitrogen and never answers for sulphur.
func lengthModel(tb testing.TB, name, shapes string) tritontest.Model {
	return tritontest.Model{
		Name: name,
		Config: tritontest.Config(tb, `name: "`+name+`" `+shapes+`
parameters { key: "retort_api" value { string_value: "oracle" } }
parameters { key: "unit" value { string_value: "2" } }`),
		Infer: func(ctx context.Context, r *triton.Request) (*triton.Response, error) {
			in, _ := tritontest.Input(r, "smiles")
			texts, err := tritontest.Texts(in)
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

// counts records the numbers of molecules by "oracle outcome".
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

var config = oracle.Config{Timeout: time.Minute, Calls: 100}

// serve starts a server and opens its oracles.
func serve(tb testing.TB, config oracle.Config, models ...tritontest.Model) *oracle.Oracles {
	tb.Helper()
	return serveCounted(tb, config, &counts{}, models...)
}

func serveCounted(tb testing.TB, config oracle.Config, c *counts, models ...tritontest.Model) *oracle.Oracles {
	tb.Helper()
	return openOn(tb, config, c, tritontest.Start(tb, models...).Client())
}

// openOn opens the oracles that a client's servers have loaded.
func openOn(tb testing.TB, config oracle.Config, c *counts, client *triton.Client) *oracle.Oracles {
	tb.Helper()
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
	all := serve(t, config, lengthModel(t, "length", batched), lengthModel(t, "flat", unbatched)).All()
	if len(all) != 2 {
		t.Fatalf("%d oracles", len(all))
	}
	for _, o := range all {
		if o.Unit() != 2 || strings.Join(o.Outputs(), " ") != "score letters" {
			t.Errorf("%s: unit %v, outputs %v", o.Name(), o.Unit(), o.Outputs())
		}
		rows, err := o.Score(t.Context(), read(t, "OCC", "CCCCCCCCCCCCC", "C", "CC", "CCC", "CCCC"))
		want := [][]float64{{3, 2}, {math.NaN(), 13}, {1, 1}, {2, 2}, {3, 3}, {4, 4}}
		if err != nil || fmt.Sprint(rows) != fmt.Sprint(want) {
			t.Errorf("%s: %v, error %v, want %v", o.Name(), rows, err, want)
		}
	}
}

// Replicas compute at the same time: five calls, more than one replica gets by default.
func TestReplicasShareMolecules(t *testing.T) {
	const replicas = 5
	var arrived atomic.Int64
	all := make(chan struct{})
	// A replica that is just being queried gets no call and another gets two, so each has several instances.
	model := lengthModel(t, "length", strings.Replace(batched, "max_batch_size: 4", "max_batch_size: 1", 1)+`
instance_group [ { count: 5 } ]`)
	infer := model.Infer
	model.Infer = func(ctx context.Context, r *triton.Request) (*triton.Response, error) {
		if arrived.Add(1) == replicas {
			close(all)
		}
		select {
		case <-all:
		case <-ctx.Done():
		}
		return infer(ctx, r)
	}
	var urls []string
	for range replicas {
		urls = append(urls, tritontest.Start(t, model).URL())
	}
	oracles := openOn(t, config, &counts{}, tritontest.Dial(t, triton.Config{URLs: urls})).All()
	rows, err := oracles[0].Score(t.Context(), read(t, "C", "CC", "CCC", "CCCC", "CCCCC"))
	if err != nil || len(rows) != replicas {
		t.Errorf("%d calls at once: %v %v", arrived.Load(), rows, err)
	}
}

func TestAnOracleThatFails(t *testing.T) {
	for smiles, want := range map[string]struct {
		timeout  time.Duration
		kind     fault.Kind
		messages []string
	}{
		"CN": {time.Minute, fault.Unavailable, []string{"the oracle length failed: ", "no nitrogen"}},
		"CS": {50 * time.Millisecond, fault.Timeout, []string{"the oracle length did not score"}},
	} {
		o := serve(t, oracle.Config{Timeout: want.timeout, Calls: 100}, lengthModel(t, "length", batched)).All()[0]
		_, err := o.Score(t.Context(), read(t, smiles))
		if err == nil {
			t.Errorf("%s: no error", smiles)
			continue
		}
		if broken := errors.Is(err, objective.ErrBroken); broken != (smiles == "CN") {
			t.Errorf("%s: broken %v: %v", smiles, broken, err)
		}
		f := fault.As(err)
		for _, message := range want.messages {
			if f.Kind != want.kind || !strings.Contains(f.Message, message) {
				t.Errorf("%s: %+v, want %v with %q", smiles, err, want.kind, message)
			}
		}
	}
}

func TestOutcomesAreCounted(t *testing.T) {
	var c counts
	o := serveCounted(t, config, &c, lengthModel(t, "length", batched)).All()[0]
	if _, err := o.Score(t.Context(), read(t, "C", "CC", "CCC", "CCCC", "CCCCCCCCCCCCC")); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Score(t.Context(), read(t, "CN", "CCN")); err == nil {
		t.Fatal("no error")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	want := map[string]int{"length scored": 4, "length none": 1, "length failed": 2}
	if !maps.Equal(c.all, want) {
		t.Errorf("counted %v, want %v", c.all, want)
	}
}

func TestTheMoleculesOfARequestAreBounded(t *testing.T) {
	oracles := serve(t, config, lengthModel(t, "length", batched))
	var spec objective.Spec
	if err := spec.UnmarshalJSON([]byte(`["QED", "length"]`)); err != nil {
		t.Fatal(err)
	}
	opened, err := spec.Open(oracles.All(), nil, nil)
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

func TestInvalidOraclesAreNotServed(t *testing.T) {
	for name, shapes := range map[string]string{
		"QED":     batched,
		"numbers": strings.ReplaceAll(batched, "TYPE_STRING", "TYPE_INT64"),
		"nothing": strings.ReplaceAll(batched, `"smiles"`, `"text"`),
		"counts":  strings.ReplaceAll(batched, "TYPE_FP32", "TYPE_INT32"),
	} {
		if all := serve(t, config, lengthModel(t, name, shapes)).All(); len(all) != 0 {
			t.Errorf("%s is served", name)
		}
	}
}

// Oracles may be opened concurrently, which the race detector checks.
func TestConcurrentOpens(t *testing.T) {
	client := tritontest.Start(t, lengthModel(t, "length", batched), lengthModel(t, "flat", unbatched)).Client()
	open := oracle.Opener(client, config, batching.Options{}, func(string, string, int) {})
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
