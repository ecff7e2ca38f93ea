package mcp

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"retort/chem"
)

// Between are the arguments of interpolate_molecules.
type Between struct {
	From  string `json:"from" jsonschema:"one molecule as SMILES"`
	To    string `json:"to" jsonschema:"the other molecule as SMILES"`
	Steps int    `json:"steps,omitempty" jsonschema:"points between the two, 1 to 100, by default 10"`
}

// maxSteps bounds interpolate_molecules.
const maxSteps = 100

func (s *Service) interpolate(ctx context.Context, in Between) *mcp.CallToolResult {
	if in.Steps == 0 {
		in.Steps = 10
	}
	if in.Steps < 1 || in.Steps > maxSteps {
		return refusal("steps: it should be from 1 to %d", maxSteps)
	}
	var ends struct {
		Hiddens [][][]float64 `json:"hiddens"`
	}
	if failed := s.call(ctx, "/hidden", map[string]any{"sequences": []string{in.From, in.To}}, &ends); failed != nil {
		return failed
	}
	if len(ends.Hiddens) != 2 || len(ends.Hiddens[0]) != len(ends.Hiddens[1]) {
		return refusal("the model answered hidden states of different shapes")
	}
	points := make([][][]float64, in.Steps)
	mask := make([][]bool, in.Steps)
	for i := range points {
		share := float64(i+1) / float64(in.Steps+1)
		points[i] = between(ends.Hiddens[0], ends.Hiddens[1], share)
		mask[i] = make([]bool, len(points[i]))
		for k := range mask[i] {
			mask[i][k] = true
		}
	}
	var decoded struct {
		Generated []string `json:"generated"`
	}
	if failed := s.call(ctx, "/decode", map[string]any{"hiddens": points, "mask": mask}, &decoded); failed != nil {
		return failed
	}
	answer, err := json.Marshal(map[string][]string{"molecules": distinct(decoded.Generated)})
	if err != nil {
		return refusal("%v", err)
	}
	return result(answer)
}

// call asks the latent API and decodes its answer, or returns its refusal.
func (s *Service) call(ctx context.Context, path string, body, into any) *mcp.CallToolResult {
	text, err := json.Marshal(body)
	if err != nil {
		return refusal("%v", err)
	}
	status, answer := s.ask(ctx, "latent", http.MethodPost, path, text)
	if status != http.StatusOK {
		return refusal("%s", answer)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return refusal("%v", err)
	}
	return nil
}

// between is the point that lies a share of the way from one hidden state to another.
func between(from, to [][]float64, share float64) [][]float64 {
	point := make([][]float64, len(from))
	for k := range from {
		point[k] = make([]float64, len(from[k]))
		for i := range from[k] {
			point[k][i] = from[k][i] + share*(to[k][i]-from[k][i])
		}
	}
	return point
}

// distinct leaves out what is no molecule and what came before.
func distinct(texts []string) []string {
	seen := map[string]bool{}
	kept := []string{}
	for _, text := range texts {
		m, err := chem.Parse(text)
		if err != nil || seen[m.SMILES()] {
			continue
		}
		seen[m.SMILES()] = true
		kept = append(kept, m.SMILES())
	}
	return kept
}
