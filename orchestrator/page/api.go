package page

// Describe is the body of POST /page/molecules.
type Describe struct {
	Molecules []string `json:"molecules" bind:"required"` // SMILES
	// Reference is the SMILES that the molecules are compared with, such as the seed of a search.
	Reference string `json:"reference"`
	// Template is a template of the masked API. Drawings mark its fragments; its masks are ignored.
	Template string `json:"template"`
	// Draw asks for drawings.
	Draw *Draw `json:"draw"`
}

// Draw has the options of drawings.
type Draw struct {
	Width  int  `json:"width"`  // pixels, 40 to 1200
	Height int  `json:"height"` // pixels, 40 to 1200
	Dark   bool `json:"dark"`   // for a dark background
}

// Described is the answer of POST /page/molecules: one entry per molecule, in order.
type Described struct {
	Molecules []Molecule `json:"molecules"`
}

// Molecule has the properties of a molecule, or the error of a text that is not a molecule.
type Molecule struct {
	Error string `json:"error,omitempty"` // if set, the other members are empty

	SMILES     string   `json:"smiles,omitempty"` // canonical
	Formula    string   `json:"formula,omitempty"`
	Weight     float64  `json:"weight"` // g/mol
	LogP       float64  `json:"logp"`   // Wildman-Crippen
	TPSA       float64  `json:"tpsa"`   // Å²
	QED        float64  `json:"qed"`    // 0 to 1
	SA         *float64 `json:"sa"`     // 1 (easy to make) to 10; null if it cannot be computed
	Acceptors  int      `json:"acceptors"`
	Donors     int      `json:"donors"`
	Rotatable  int      `json:"rotatable"`
	Rings      int      `json:"rings"`
	Similarity *float64 `json:"similarity,omitempty"` // to the reference: Tanimoto, Morgan radius 2, 2048 bits
	Marked     int      `json:"marked"`               // atoms marked in the drawing
	SVG        string   `json:"svg,omitempty"`
}

// Records is the body of POST /page/sdf.
type Records struct {
	Molecules []Record `json:"molecules" bind:"required"`
}

// Record is a molecule of an SD file.
type Record struct {
	SMILES     string  `json:"smiles" bind:"required"`
	Title      string  `json:"title"`
	Properties []Value `json:"properties"`
}

// Value is a property of a record.
type Value struct {
	Name  string `json:"name" bind:"required"`
	Value string `json:"value"`
}

// File is the answer of POST /page/sdf.
type File struct {
	SDF string `json:"sdf"`
}

// Overview is the answer of GET /page/apis.
type Overview struct {
	Version   string `json:"version"`
	OpenToAll bool   `json:"open_to_all"` // the APIs listen on all networks and need no key
	APIs      []API  `json:"apis"`
}

// API is the state of one API.
type API struct {
	Name   string  `json:"name"` // also its prefix on the main port
	Title  string  `json:"title"`
	Port   int     `json:"port"` // for this API alone; 0 for none
	Ready  bool    `json:"ready"`
	Reason string  `json:"reason,omitempty"` // if it is not ready
	Models []Model `json:"models"`
}

// Model is a model that an API serves.
type Model struct {
	ID       string   `json:"id"`
	Entry    string   `json:"entry,omitempty"`    // folder in the model repository
	Versions []string `json:"versions,omitempty"` // ready versions, oldest first
}

// Failure is the answer to a request that fails.
type Failure struct {
	Detail any `json:"detail"` // a list of problems with their places, or a text
}
