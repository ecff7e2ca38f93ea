package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"retort/orchestrator/client"
	"retort/orchestrator/inputfile"
)

// collection is passages and held-out queries, as scripts.train.collection writes them.
type collection struct {
	passages []string // with their titles
	queries  []judgedQuery
}

// count returns the number of texts.
func (c *collection) count() int { return len(c.passages) + len(c.queries) }

// judgedQuery is a query with the indexes of the passages that answer it.
type judgedQuery struct {
	text    string
	answers map[int]bool
}

// heldOut is the split of the queries that models are not trained on.
const heldOut = "test"

// collection reads the two files of a collection.
func (c *compareCommand) collection() (*collection, error) {
	folder, name := filepath.Split(c.File)
	stem, rest, ok := strings.Cut(name, ".queries.")
	if !ok {
		return nil, fmt.Errorf("%s: a file NAME.queries.jsonl.gz is expected, as scripts.train.collection writes it", c.File)
	}
	found := &collection{}
	index := map[string]int{}
	err := readObjects(folder+stem+".passages."+rest, func(line []byte) error {
		var passage struct{ PID, Title, Text string }
		if err := json.Unmarshal(line, &passage); err != nil || passage.PID == "" || passage.Text == "" {
			return cmp.Or(err, errors.New("a passage needs pid and text"))
		}
		if passage.Title != "" && !strings.HasPrefix(passage.Text, passage.Title) {
			passage.Text = passage.Title + ". " + passage.Text
		}
		if _, ok := index[passage.PID]; ok {
			return fmt.Errorf("there is another passage %s", passage.PID)
		}
		index[passage.PID] = len(found.passages)
		found.passages = append(found.passages, passage.Text)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = readObjects(c.File, func(line []byte) error {
		var query struct {
			Query, Split string
			Pos          []string
		}
		if err := json.Unmarshal(line, &query); err != nil || query.Query == "" || len(query.Pos) == 0 {
			return cmp.Or(err, errors.New("a query needs query and pos, the ids of its passages"))
		}
		if query.Split != heldOut {
			return nil
		}
		judged := judgedQuery{text: query.Query, answers: map[int]bool{}}
		for _, id := range query.Pos {
			i, ok := index[id]
			if !ok {
				return fmt.Errorf("there is no passage %s", id)
			}
			judged.answers[i] = true
		}
		found.queries = append(found.queries, judged)
		return nil
	})
	if err == nil && len(found.queries) == 0 {
		err = fmt.Errorf("%s: no query has the split %q", c.File, heldOut)
	}
	found.queries = draw(c, found.queries)
	return found, err
}

// readObjects calls read with each line of a file that is not blank. Errors name file and line.
func readObjects(name string, read func(line []byte) error) error {
	file, err := inputfile.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	scanner := newLineScanner(file)
	for number := 1; scanner.Scan(); number++ {
		line := strings.TrimSpace(strings.TrimPrefix(scanner.Text(), "\ufeff"))
		if line == "" {
			continue
		}
		if err := read([]byte(line)); err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

const (
	textBatch     = 16  // small, so that a slow service answers within its time limit
	longestList   = 100 // passages of a query that are kept
	candidateList = 20  // passages that are ranked
)

// embedding measures the search for the passages of the held-out queries among all passages.
func (c *compareCommand) embedding(_ *Process, s *client.Service) (*measurement, error) {
	texts, err := c.collection()
	if err != nil {
		return nil, err
	}
	rows := len(texts.queries)
	m := &measurement{
		names: []string{"nDCG@10", "recall@10", "recall@100"}, rows: rows, unit: "queries", isPaired: true,
		work: texts.count(),
	}
	m.measure = func(ctx context.Context, model string, onDone func(int)) ([][]float64, error) {
		lists, err := search(ctx, s, model, texts, longestList, onDone)
		if err != nil {
			return nil, err
		}
		values := newValues(len(m.names), rows)
		for i, query := range texts.queries {
			values[0][i] = query.ndcg(lists[i])
			values[1][i] = query.recall(lists[i], 10)
			values[2][i] = query.recall(lists[i], 100)
		}
		return values, nil
	}
	return m, nil
}

// ranking measures the order of candidates, which the first embedding model of the service chooses.
func (c *compareCommand) ranking(p *Process, s *client.Service) (*measurement, error) {
	texts, err := c.collection()
	if err != nil {
		return nil, err
	}
	embedding, err := chooseModel(p.Context, s, "embedding", "", false)
	if err != nil {
		return nil, fmt.Errorf("candidates: %w", err)
	}
	onDone := p.countParts("choosing candidates", texts.count())
	candidates, err := search(p.Context, s, embedding, texts, candidateList, onDone)
	if err != nil {
		return nil, fmt.Errorf("candidates: %s: %w", embedding, err)
	}
	rows := len(texts.queries)
	m := &measurement{
		names: []string{"nDCG@10", "right first"}, rows: rows, unit: "queries", isPaired: true, candidates: embedding,
		work: rows,
	}
	m.measure = func(ctx context.Context, model string, onDone func(int)) ([][]float64, error) {
		values := newValues(len(m.names), rows)
		err := inBatches(ctx, rows, 1, func(ctx context.Context, i, _ int) error {
			query := texts.queries[i]
			list, err := rankPassages(ctx, s, model, query.text, texts.passages, candidates[i])
			if err != nil {
				return err
			}
			values[0][i] = query.ndcg(list)
			values[1][i] = share(query.answers[list[0]])
			onDone(1)
			return nil
		})
		return values, err
	}
	return m, nil
}

// rankPassages returns the candidates of a query in the order of a ranker.
func rankPassages(
	ctx context.Context, s *client.Service, model, query string, passages []string, candidates []int,
) ([]int, error) {
	rows := make([]inputRow, len(candidates))
	for k, i := range candidates {
		rows[k].text = passages[i]
	}
	ranker := rankCommand{Query: query, Truncate: "END"}
	answers, err := ranker.rank(ctx, s, model, rows)
	if err != nil {
		return nil, err
	}
	order := make([]int, len(candidates))
	for k := range order {
		order[k] = k
	}
	logit := func(k int) float64 {
		value, _ := answers[k].records[0].get("logit").(float64)
		return value
	}
	// Equal logits are no order. That of the file favours no model, unlike the order of the candidates.
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(logit(b), logit(a)), cmp.Compare(candidates[a], candidates[b]))
	})
	for i, k := range order {
		order[i] = candidates[k]
	}
	return order, nil
}

// search returns the indexes of the passages most similar to each query, best first. It calls onDone with the number
// of texts that it has embedded.
func search(
	ctx context.Context, s *client.Service, model string, texts *collection, count int, onDone func(int),
) ([][]int, error) {
	passages, err := embedTexts(ctx, s, model, "passage", texts.passages, onDone)
	if err != nil {
		return nil, err
	}
	asked := make([]string, len(texts.queries))
	for i, query := range texts.queries {
		asked[i] = query.text
	}
	queries, err := embedTexts(ctx, s, model, "query", asked, onDone)
	if err != nil {
		return nil, err
	}
	for _, vector := range slices.Concat(passages, queries) {
		if len(vector) != len(passages[0]) {
			return nil, fmt.Errorf("unexpected answer: vectors of %d and of %d numbers", len(passages[0]), len(vector))
		}
	}
	lists := make([][]int, len(queries))
	return lists, onAllCores(ctx, len(queries), func(i int) {
		lists[i] = nearest(queries[i], passages, count)
	})
}

// embedTexts returns the vector of each text, of length 1. It calls onDone with the number of texts of each batch.
func embedTexts(
	ctx context.Context, s *client.Service, model, kind string, texts []string, onDone func(int),
) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	err := inBatches(ctx, len(texts), textBatch, func(ctx context.Context, start, end int) error {
		body := map[string]any{
			"model": model, "input": texts[start:end], "input_type": kind, "truncate": "END",
		}
		var response struct {
			Data []struct{ Embedding []float32 }
		}
		// The main port's /v1 also accepts input_type for models with one mode.
		if err := s.Post(ctx, "/v1/embeddings", body, &response); err != nil {
			return err
		}
		if len(response.Data) != end-start {
			return errAnswerCount(len(response.Data), end-start)
		}
		for i, row := range response.Data {
			length := float32(math.Sqrt(float64(dot(row.Embedding, row.Embedding))))
			for k := range row.Embedding {
				row.Embedding[k] /= max(length, math.SmallestNonzeroFloat32)
			}
			vectors[start+i] = row.Embedding
		}
		onDone(end - start)
		return nil
	})
	return vectors, err
}

func dot(a, b []float32) float32 {
	sum := float32(0)
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// nearest returns the indexes of the passages with the highest similarities, best first. Of equal ones, the first in
// the file is first.
func nearest(query []float32, passages [][]float32, count int) []int {
	var best []int
	var similarities []float32 // of best
	for i, passage := range passages {
		similarity := dot(query, passage)
		if len(best) == count {
			if similarity <= similarities[count-1] {
				continue
			}
			best = best[:count-1]
			similarities = similarities[:count-1]
		}
		rank, _ := slices.BinarySearchFunc(similarities, similarity, func(better, s float32) int {
			if better >= s {
				return -1
			}
			return 1
		})
		best = slices.Insert(best, rank, i)
		similarities = slices.Insert(similarities, rank, similarity)
	}
	return best
}

// ndcg returns the normalized discounted cumulative gain of the first 10 passages, as trec_eval computes it.
func (q judgedQuery) ndcg(list []int) float64 {
	gain, ideal := 0.0, 0.0
	for rank := range 10 {
		discounted := 1 / math.Log2(float64(rank+2))
		if rank < len(list) && q.answers[list[rank]] {
			gain += discounted
		}
		if rank < len(q.answers) {
			ideal += discounted
		}
	}
	return gain / ideal
}

// recall returns the share of the answers among the first passages.
func (q judgedQuery) recall(list []int, count int) float64 {
	found := 0
	for _, i := range list[:min(count, len(list))] {
		if q.answers[i] {
			found++
		}
	}
	return float64(found) / float64(len(q.answers))
}
