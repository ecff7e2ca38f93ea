package command_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// startModels starts a service whose models are good and bad ones, by the end of their id: bad ones decode every
// second molecule to ethanol, generate ethanol only, embed and rank in reverse. The vectors of embedding/uneven have
// different lengths, and all logits of ranking/equal are equal.
func startModels(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	handle := func(path string, answer func(isGood bool, body map[string]any) any) {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			var body map[string]any
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			_ = json.NewEncoder(w).Encode(answer(strings.HasSuffix(body["model"].(string), "good"), body))
		})
	}
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		var models []map[string]string
		for _, api := range []string{"latent", "masked", "embedding", "ranking", "chat"} {
			models = append(models, map[string]string{"id": api + "/good", "api": api})
			models = append(models, map[string]string{"id": api + "/bad", "api": api})
		}
		models = append(models, map[string]string{"id": "embedding/uneven", "api": "embedding"})
		models = append(models, map[string]string{"id": "ranking/equal", "api": "ranking"})
		_ = json.NewEncoder(w).Encode(map[string]any{"data": models})
	})
	handle("/latent/hidden", func(_ bool, body map[string]any) any {
		return map[string]any{"hiddens": body["sequences"], "mask": body["sequences"]}
	})
	handle("/latent/decode", func(isGood bool, body map[string]any) any {
		texts := body["hiddens"].([]any)
		for i := range texts {
			if !isGood && i%2 == 1 {
				texts[i] = "CCO"
			}
		}
		return map[string]any{"generated": texts}
	})
	handle("/masked/generate", func(isGood bool, body map[string]any) any {
		if !isGood {
			return map[string]any{"molecules": []any{map[string]any{"smiles": "CCO", "scores": map[string]any{}}}}
		}
		var molecules []any
		for i := range int(body["num_molecules"].(float64)) {
			smiles := strings.Repeat("C", int(body["seed"].(float64))+i+1) + "N"
			scores := map[string]any{"QED": 0.7, "SA": 2, "decoded_as_written": i > 0}
			molecules = append(molecules, map[string]any{"smiles": smiles, "scores": scores})
		}
		return map[string]any{"molecules": molecules}
	})
	handle("/v1/embeddings", func(isGood bool, body map[string]any) any {
		var data []any
		for _, text := range body["input"].([]any) {
			var number float64
			_, _ = fmt.Sscanf(text.(string), "text %f", &number)
			if !isGood && body["input_type"] == "query" {
				number += 20
			}
			vector := []float64{math.Cos(number / 10), math.Sin(number / 10)}
			if body["model"] == "embedding/uneven" && body["input_type"] == "query" {
				vector = append(vector, 1)
			}
			data = append(data, map[string]any{"embedding": vector})
		}
		return map[string]any{"data": data}
	})
	handle("/ranking/v1/ranking", func(isGood bool, body map[string]any) any {
		var rankings []any
		for i := range body["passages"].([]any) {
			logit := float64(-i)
			switch {
			case body["model"] == "ranking/equal":
				logit = 1
			case !isGood:
				logit = float64(i)
			}
			rankings = append(rankings, map[string]any{"index": i, "logit": logit})
		}
		slices.Reverse(rankings)
		return map[string]any{"rankings": rankings}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// writeData writes 40 molecules and a collection of 40 passages, each of which answers a query.
func writeData(t *testing.T) (molecules, queries string) {
	t.Helper()
	var smiles, passages, asked strings.Builder
	for i := range 40 {
		fmt.Fprintf(&smiles, "%sN\n", strings.Repeat("C", i+1))
		fmt.Fprintf(&passages, `{"pid":"p%d","title":"text","text":"text %d"}`+"\n", i, i)
		fmt.Fprintf(&asked, `{"qid":"q%d","query":"text %d","pos":["p%d"],"split":"test"}`+"\n", i, i, i)
	}
	asked.WriteString(`{"qid":"q","query":"text 1","pos":["p1"],"split":"train"}`)
	molecules = writeGzip(t, "own.smi.gz", smiles.String())
	queries = writeGzip(t, "own.queries.jsonl.gz", asked.String())
	zipped, err := os.ReadFile(writeGzip(t, "own.passages.jsonl.gz", passages.String()))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(queries), "own.passages.jsonl.gz"), zipped, 0o600); err != nil {
		t.Fatal(err)
	}
	return molecules, queries
}

func writeGzip(t *testing.T, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	zipped := gzip.NewWriter(file)
	if _, err := zipped.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

type compared struct {
	API        string
	Rows       int
	Candidates string
	Figures    []struct {
		Name                        string
		A, B, Difference, Low, High float64
		Better                      string
	}
}

func TestCompare(t *testing.T) {
	url := startModels(t)
	molecules, queries := writeData(t)
	for api, test := range map[string]struct {
		file string
		rows int
		want string // name, a, b and the better one of each figure
	}{
		"latent": {molecules, 40, "identical 0.500 1.000 B, similarity 0.598 1.000 B, valid 1.000 1.000 "},
		"masked": {molecules, 40,
			"valid 0.025 1.000 B, as written 0.000 0.975 B, unique 1.000 1.000 , quality 0.000 1.000 B, " +
				"diversity 0.000 0.114 , nearest 0.333 1.000 "},
		"embedding": {queries, 40, "nDCG@10 0.000 1.000 B, recall@10 0.000 1.000 B, recall@100 1.000 1.000 "},
		"ranking":   {queries, 40, "nDCG@10 0.000 1.000 B, right first 0.000 1.000 B"},
	} {
		r := run(t, "", "compare", api+"/bad", api+"/good", test.file, "--rows", "0", "--json", "--url", url)
		var got compared
		if err := json.Unmarshal([]byte(r.out), &got); err != nil || r.code != 0 {
			t.Errorf("%s: %+v", api, r)
			continue
		}
		var figures []string
		for _, f := range got.Figures {
			figures = append(figures, fmt.Sprintf("%s %.3f %.3f %s", f.Name, f.A, f.B, f.Better))
			if f.Low > f.Difference || f.High < f.Difference || math.Abs(f.B-f.A-f.Difference) > 1e-9 {
				t.Errorf("%s: %+v", api, f)
			}
		}
		if text := strings.Join(figures, ", "); text != test.want || got.Rows != test.rows || got.API != api {
			t.Errorf("%s: %d rows\ngot  %s\nwant %s", api, got.Rows, text, test.want)
		}
		// The other way round the other model is better, and a model is not better than itself.
		r = run(t, "", "compare", api+"/good", api+"/bad", test.file, "--rows", "40", "--url", url)
		if r.code != 0 || !strings.Contains(r.out, " A\n") || strings.Contains(r.out, " B\n") {
			t.Errorf("%s: %+v", api, r)
		}
		r = run(t, "", "compare", api+"/good", api+"/good", test.file, "--rows", "10", "--url", url)
		if r.code != 0 || !strings.Contains(r.out, ", 10 ") || strings.Count(r.out, "unclear") != len(got.Figures) {
			t.Errorf("%s: %+v", api, r)
		}
	}
}

// A ranker that gives every passage the same logit does not get the figures of the model that chose the candidates.
func TestCompareRankerWithoutOrder(t *testing.T) {
	url := startModels(t)
	_, queries := writeData(t)
	r := run(t, "", "compare", "ranking/equal", "ranking/good", queries, "--json", "--url", url)
	var got compared
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || r.code != 0 {
		t.Fatalf("%+v", r)
	}
	if f := got.Figures[0]; f.A > 0.5 || f.B != 1 || f.Better != "B" {
		t.Errorf("%+v", f)
	}
}

// Copies of a molecule, however written, are one row.
func TestCompareDistinctMolecules(t *testing.T) {
	url := startModels(t)
	file := writeGzip(t, "own.smi.gz", strings.Repeat("CCN\nNCC\nC(C)N name\n", 50)+"CCC\n")
	r := run(t, "", "compare", "latent/good", "latent/bad", file, "--json", "--url", url)
	var got compared
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || got.Rows != 2 || got.Figures[0].Better != "" {
		t.Errorf("%+v", r)
	}
}

func TestCompareRefuses(t *testing.T) {
	url := startModels(t)
	molecules, queries := writeData(t)
	write := func(name, text string) string {
		name = filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	alone := writeGzip(t, "alone.queries.jsonl.gz", "{}")
	for _, test := range []struct{ a, b, file, want string }{
		{"latent/good", "latent/none", molecules, "no model latent/none; its models are latent/good, "},
		{"latent/good", "masked/good", molecules, "latent/good is a model of the latent API, and masked/good of the masked"},
		{"chat/good", "chat/bad", molecules, "models of the chat API are not compared"},
		{"latent/good", "latent/bad", "missing.smi", "missing.smi: no such file"},
		{"latent/good", "latent/bad", write("empty.smi", "\n"), "empty.smi has no molecules"},
		{"masked/good", "masked/bad", write("own.smi", "no molecule\n"), "line 1 is left out"},
		{"masked/good", "masked/bad", write("own.smi.gz", "C\n"), "own.smi.gz: unexpected EOF"},
		{"ranking/good", "ranking/bad", molecules, "own.smi.gz: a file NAME.queries.jsonl.gz is expected"},
		{"ranking/good", "ranking/bad", alone, "alone.passages.jsonl.gz: no such file"},
		{"embedding/good", "embedding/uneven", queries, "embedding/uneven: unexpected answer: vectors of 2 and of 3"},
	} {
		r := run(t, "", "compare", test.a, test.b, test.file, "--url", url)
		if r.code != 1 || r.out != "" || !strings.Contains(r.err, test.want) {
			t.Errorf("%s %s %s: %+v", test.a, test.b, test.file, r)
		}
	}
	for text, want := range map[string]string{
		`[]`:            "own.queries.jsonl.gz:1: json: cannot unmarshal",
		`{"query":"a"}`: "own.queries.jsonl.gz:1: a query needs query and pos",
		`{"query":"a","pos":["x"],"split":"test"}`: "own.queries.jsonl.gz:1: there is no passage x",
		`{"query":"a","pos":["x"]}`:                `own.queries.jsonl.gz: no query has the split "test"`,
	} {
		changed := writeGzip(t, "own.queries.jsonl.gz", text)
		passages := filepath.Join(filepath.Dir(changed), "own.passages.jsonl.gz")
		if err := os.Symlink(filepath.Join(filepath.Dir(queries), "own.passages.jsonl.gz"), passages); err != nil {
			t.Fatal(err)
		}
		r := run(t, "", "compare", "embedding/good", "embedding/bad", changed, "--url", url)
		if r.code != 1 || !strings.Contains(r.err, want) {
			t.Errorf("%s: %+v", text, r)
		}
	}
	twice := writeGzip(t, "own.passages.jsonl.gz", strings.Repeat(`{"pid":"p1","text":"text 1"}`+"\n", 2))
	r := run(t, "", "compare", "embedding/good", "embedding/bad",
		strings.Replace(twice, "passages", "queries", 1), "--url", url)
	if r.code != 1 || !strings.Contains(r.err, "own.passages.jsonl.gz:2: there is another passage p1") {
		t.Errorf("%+v", r)
	}
}
