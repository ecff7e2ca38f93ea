package mcp

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"retort/chem"
)

// pathArguments are the arguments of interpolate_molecules.
type pathArguments struct {
	From  string `json:"from" jsonschema:"one molecule as SMILES"`
	To    string `json:"to" jsonschema:"the other molecule as SMILES"`
	Steps int    `json:"steps,omitempty" jsonschema:"points between the two, 1 to 100, by default 10"`
}

// maxSteps bounds interpolate_molecules.
const maxSteps = 100

func (s *Service) interpolate(ctx context.Context, in pathArguments) *mcp.CallToolResult {
	if in.Steps == 0 {
		in.Steps = 10
	}
	if in.Steps < 1 || in.Steps > maxSteps {
		return refusal("steps: it must be from 1 to %d", maxSteps)
	}
	var ends struct {
		Hiddens [][][]float64 `json:"hiddens"`
	}
	if refused := s.call(ctx, "latent", "/hidden", map[string]any{"sequences": []string{in.From, in.To}},
		&ends); refused != nil {
		return refused
	}
	if len(ends.Hiddens) != 2 || len(ends.Hiddens[0]) != len(ends.Hiddens[1]) {
		return refusal("the hidden states of the two molecules have different shapes")
	}
	points := make([][][]float64, in.Steps)
	mask := make([][]bool, in.Steps)
	for i := range points {
		fraction := float64(i+1) / float64(in.Steps+1)
		points[i] = pointBetween(ends.Hiddens[0], ends.Hiddens[1], fraction)
		mask[i] = make([]bool, len(points[i]))
		for k := range mask[i] {
			mask[i][k] = true
		}
	}
	var decoded struct {
		Generated []string `json:"generated"`
	}
	if refused := s.call(ctx, "latent", "/decode", map[string]any{"hiddens": points, "mask": mask},
		&decoded); refused != nil {
		return refused
	}
	return resultOf(map[string][]string{"molecules": distinct(decoded.Generated)})
}

// pointBetween returns a point on the line between two hidden states: from at fraction 0, to at fraction 1.
func pointBetween(from, to [][]float64, fraction float64) [][]float64 {
	point := make([][]float64, len(from))
	for k := range from {
		point[k] = make([]float64, len(from[k]))
		for i := range from[k] {
			point[k][i] = from[k][i] + fraction*(to[k][i]-from[k][i])
		}
	}
	return point
}

// distinct returns canonical SMILES without duplicates and without texts that are not molecules.
func distinct(texts []string) []string {
	seen := map[string]bool{}
	molecules := []string{}
	for _, text := range texts {
		m, err := chem.Parse(text)
		if err != nil || seen[m.SMILES()] {
			continue
		}
		seen[m.SMILES()] = true
		molecules = append(molecules, m.SMILES())
	}
	return molecules
}
