package mcp

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"retort/chem"
)

// moleculeArguments are the arguments of tools about one molecule.
type moleculeArguments struct {
	SMILES string `json:"smiles" jsonschema:"the molecule as SMILES"`
}

// properties is the answer of describe_molecule.
type properties struct {
	SMILES  string  `json:"smiles"` // canonical
	Formula string  `json:"formula"`
	Weight  float64 `json:"molecular_weight"`        // g/mol
	LogP    float64 `json:"logp"`                    // Crippen
	QED     float64 `json:"qed"`                     // drug-likeness, 0 to 1
	TPSA    float64 `json:"tpsa"`                    // square ångström
	SA      float64 `json:"synthetic_accessibility"` // 1 (easy) to 10
}

func (s *Service) addTypedTools() {
	addTypedTool(s, "describe_molecule", "Describe a molecule",
		"Canonical SMILES, formula, molecular weight, LogP, QED, polar surface and synthetic accessibility of a molecule.",
		s.describe)
	addTypedTool(s, "draw_molecule", "Draw a molecule", "An image (PNG) of a molecule.", s.draw)
	addTypedTool(s, "interpolate_molecules", "Molecules between two",
		"The distinct molecules on the straight line between two in the model's latent space, in order.", s.interpolate)
	addTypedTool(s, "read_drawing", "Read a drawing of a molecule",
		"Reads an image of one molecule's structural formula and answers a question about it: SMILES, formula, rings, groups.",
		s.readDrawing)
}

// addTypedTool adds a tool whose schema comes from the type of its arguments.
func addTypedTool[In any](
	s *Service, name, title, text string, answer func(context.Context, In) *mcp.CallToolResult,
) {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		panic(err) // In is a type of this package
	}
	s.addTool(name, title, text, schema, func(ctx context.Context, arguments json.RawMessage) *mcp.CallToolResult {
		var in In
		decoder := json.NewDecoder(bytes.NewReader(arguments))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&in); err != nil {
			return refusal("invalid arguments: %v", err)
		}
		return answer(ctx, in)
	})
}

func (s *Service) describe(_ context.Context, in moleculeArguments) *mcp.CallToolResult {
	m, err := chem.Parse(in.SMILES)
	if err != nil {
		return refusal("smiles: %v", err)
	}
	answer, err := json.Marshal(properties{
		SMILES: m.SMILES(), Formula: m.Formula(), Weight: m.Weight(), LogP: m.LogP(), QED: m.QED(), TPSA: m.TPSA(),
		SA: m.SA(),
	})
	if err != nil { // a property is not a number
		return refusal("smiles: its properties are not numbers: %v", err)
	}
	return result(answer)
}

func (s *Service) draw(_ context.Context, in moleculeArguments) *mcp.CallToolResult {
	m, err := chem.Parse(in.SMILES)
	if err != nil {
		return refusal("smiles: %v", err)
	}
	image, err := chem.PNG(m, 300, 250)
	if err != nil {
		return refusal("smiles: %v", err)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: image, MIMEType: "image/png"}}}
}
