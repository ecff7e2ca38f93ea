package search

// start is what an operator makes a hidden state of, before it adds noise.
type start int

const (
	parentCode      start = iota // the parent's hidden state
	windowCrossover              // the parent's hidden state, with another parent's numbers in the window
	tokenEdit                    // the parent's text with one token inserted, replaced or deleted, encoded again
	twoTokenEdits                // the same with two edits
	textCrossover                // the beginning of the parent's text and the end of another's, encoded again
	graphEdit                    // the parent's molecule after a small change of its graph, encoded
	graphCrossover               // a part of the parent's molecule joined with a part of another's, encoded
)

// encodes reports whether the start is a text that has to be encoded.
func (s start) encodes() bool { return s >= tokenEdit }

// edits reports whether the start is a molecule that an [editor] makes.
func (s start) edits() bool { return s >= graphEdit }

// operator is a mutation or crossover operator: a way to make a point of the latent space of one or two parents. A
// window is a run of neighbouring coordinates at a random place. The model was trained such that places in the hidden
// state belong to places in the text, so a change in a window is a change to some of the atoms.
type operator struct {
	start
	window      float64 // share of the coordinates in the window, from 0 to 1
	noise       float64 // standard deviation of the noise added in the window, in units of the space's radius
	temperature float32 // of the decoder
}

// direct reports whether the operator's molecule is evaluated as it is: at its own hidden state, without noise, the
// decoder would give it back at best.
func (o *operator) direct() bool { return o.edits() && o.window == 0 }

// operators are all that a search chooses from. Which of them pays differs between seeds and objectives, so a search
// learns it: see [selection].
var operators = [...]operator{
	{parentCode, 1, 0.9, 0},
	{parentCode, 1, 1.2, 0},
	{parentCode, 1, 0.5, 1},
	{parentCode, 1. / 2, 1.2, 0},
	{parentCode, 1. / 8, 2, 0},
	{parentCode, 1. / 32, 3.5, 0},
	{windowCrossover, 1. / 4, 0, 0},
	{windowCrossover, 1. / 2, 0, 0},
	{windowCrossover, 1. / 2, 0.25, 0.7},
	{textCrossover, 0, 0, 0},
	{textCrossover, 1, 0.4, 0.7},
	{tokenEdit, 0, 0, 0},
	{tokenEdit, 1, 0.6, 0},
	{tokenEdit, 1, 0.4, 0.7},
	{twoTokenEdits, 1, 0.6, 0},
	{graphEdit, 0, 0, 0},
	{graphEdit, 1, 0.5, 0},
	{graphCrossover, 0, 0, 0},
	{graphCrossover, 1, 0.5, 0},
}
