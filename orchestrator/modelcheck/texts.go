package modelcheck

import (
	"context"
	"math"

	"retort/orchestrator/chat"
	"retort/orchestrator/embedding"
	"retort/orchestrator/ranking"
)

// passages are samples of different lengths, so that some are padded in a batch.
var passages = []string{
	"Aspirin reduces pain, fever and inflammation.",
	"water",
	"A retort is a glass vessel with a long neck that bends down. Chemists used it to distil liquids.",
	"Caffeine blocks adenosine receptors, which makes people less sleepy.",
	"The melting point of a substance is the temperature at which it changes from solid to liquid.",
	"ÅÄÖ – 苯 🧪",
	"Benzene is a ring of six carbon atoms.",
	"?",
}

const query = "What relieves pain?"

func (c *check) embedding(ctx context.Context, m embedding.Model) {
	about := m.About()
	modes := []string{""}
	if about.TwoModes {
		modes = []string{"query", "passage"}
	}
	for _, mode := range modes {
		call := "vectors"
		if mode != "" {
			call = mode + " vectors"
		}
		ask := func(ctx context.Context, samples []int) ([][]float32, error) {
			rows, _, err := m.Embed(ctx, embedding.Texts{Texts: pick(passages, samples), Mode: mode, Truncate: "END"})
			return rows, err
		}
		vectors := c.checkNumbers(ctx, call, len(passages), ask)
		if vectors == nil {
			return
		}
		low, high := norms(vectors)
		if about.LeastDimensions < about.Width {
			ok := low > 0.99 && high < 1.01
			c.require(ok, call+": unit norm", "1 ± 0.01, since dimensions is a range", "%.4f to %.4f", low, high)
		} else {
			c.inform(call+": norm", "%.4f to %.4f", low, high)
		}
		c.requireDistinct(call, vectors)
	}
}

// requireDistinct adds a row for answers to different samples, which must not all be the same.
func (c *check) requireDistinct(call string, rows [][]float32) {
	differ := 0.0
	for i := range rows[1:] {
		differ = max(differ, deviation(rows[:1], rows[i+1:i+2]))
	}
	c.require(differ > 0, call+": differ between samples", "above 0", "%.1e", differ)
}

func norms(rows [][]float32) (low, high float64) {
	low = math.Inf(1)
	for _, row := range rows {
		square := 0.0
		for _, x := range row {
			square += float64(x) * float64(x)
		}
		low = min(low, math.Sqrt(square))
		high = max(high, math.Sqrt(square))
	}
	return low, high
}

func (c *check) ranking(ctx context.Context, m ranking.Model) {
	logits := c.checkNumbers(ctx, "logits", len(passages), func(ctx context.Context, samples []int) ([][]float32, error) {
		pairs := ranking.Pairs{
			Query:    query,
			Passages: pick(passages, samples),
			Long:     ranking.Cut,
			Path:     func(i int) []any { return []any{"passages", i} },
		}
		scores, _, err := m.Score(ctx, pairs)
		rows := make([][]float32, len(scores))
		for i := range scores {
			rows[i] = scores[i : i+1]
		}
		return rows, err
	})
	if logits == nil {
		return
	}
	c.requireDistinct("logits", logits)
	best := 0
	for i := range logits {
		if logits[i][0] > logits[best][0] {
			best = i
		}
	}
	c.inform("best passage", "%q for %q", passages[best], query)
}

// answerTokens is the length of the answers of chat models.
const answerTokens = 32

func (c *check) chat(ctx context.Context, m *chat.Model) {
	var first string
	for i := range 2 {
		text, finish, err := m.Ask(ctx, "What is benzene?", answerTokens)
		if i == 0 && !c.called("answer", err) {
			return
		}
		if err != nil {
			c.called("answer again", err)
			return
		}
		if i == 0 {
			first = text
			c.require(text != "", "answer: text", "not empty", "%.60q", text)
			c.require(finish == "stop" || finish == "length", "answer: finish reason", "stop or length", "%q", finish)
		} else {
			c.requireEqual("answer: repeatable", []string{first}, []string{text})
		}
	}
}

// pick returns the elements with the given indices.
func pick[T any](all []T, samples []int) []T {
	some := make([]T, len(samples))
	for k, i := range samples {
		some[k] = all[i]
	}
	return some
}
