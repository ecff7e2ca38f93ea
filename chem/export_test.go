package chem

import "context"

// Offspring is [Editor.Offspring] of a new editor.
func Offspring(ctx context.Context, parents []Parents) ([][]*Molecule, error) {
	var editor Editor
	defer editor.Close()
	return editor.Offspring(ctx, parents)
}
