package mcp

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"retort/chem"
)

// SMILES has the arguments of tools about one molecule.
type SMILES struct {
	SMILES string `json:"smiles" jsonschema:"the molecule as SMILES"`
}

// Described is the answer of describe_molecule.
type Described struct {
	SMILES  string  `json:"smiles"` // canonical
	Formula string  `json:"formula"`
	Weight  float64 `json:"molecular_weight"`        // g/mol
	LogP    float64 `json:"logp"`                    // Crippen
	QED     float64 `json:"qed"`                     // drug-likeness, 0 to 1
	TPSA    float64 `json:"tpsa"`                    // square ångström
	SA      float64 `json:"synthetic_accessibility"` // 1 (easy) to 10
}

// offerTypedTools adds the typed tools.
func (s *Service) offerTypedTools() {
	offerTyped(s, "describe_molecule", "Describe a molecule",
		"Canonical SMILES, formula, molecular weight, LogP, QED, polar surface and synthetic accessibility of a molecule.",
		s.describe)
	offerTyped(s, "draw_molecule", "Draw a molecule", "A picture (PNG) of a molecule.", s.draw)
	offerTyped(s, "interpolate_molecules", "Molecules between two",
		"The distinct molecules on the straight line between two in the model's latent space, in order.", s.interpolate)
	offerTyped(s, "read_drawing", "Read a drawing of a molecule",
		"Reads a picture of one molecule's structural formula and answers a question about it: SMILES, formula, rings, groups.",
		s.read)
}

// offerTyped adds a tool whose schema comes from the type of its arguments.
func offerTyped[In any](
	s *Service, name, title, text string, use func(context.Context, In) *mcp.CallToolResult,
) {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		panic(err) // In is a type of this package
	}
	s.offer(name, title, text, schema, func(ctx context.Context, arguments json.RawMessage) *mcp.CallToolResult {
		var in In
		decoder := json.NewDecoder(bytes.NewReader(arguments))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&in); err != nil {
			return refusal("the arguments do not fit: %v", err)
		}
		return use(ctx, in)
	})
}

func (s *Service) describe(_ context.Context, in SMILES) *mcp.CallToolResult {
	m, err := chem.Parse(in.SMILES)
	if err != nil {
		return refusal("smiles: %v", err)
	}
	answer, err := json.Marshal(Described{
		SMILES: m.SMILES(), Formula: m.Formula(), Weight: m.Weight(), LogP: m.LogP(), QED: m.QED(), TPSA: m.TPSA(),
		SA: m.SA(),
	})
	if err != nil { // a property is not a number
		return refusal("smiles: it has no such properties: %v", err)
	}
	return result(answer)
}

func (s *Service) draw(_ context.Context, in SMILES) *mcp.CallToolResult {
	m, err := chem.Parse(in.SMILES)
	if err != nil {
		return refusal("smiles: %v", err)
	}
	picture, err := chem.PNG(m, 300, 250)
	if err != nil {
		return refusal("smiles: %v", err)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: picture, MIMEType: "image/png"}}}
}
