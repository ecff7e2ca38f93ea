// Package synthesis plans syntheses: which reactions make a molecule from building blocks.
//
//	planner, err := synthesis.NewPlanner(synthesis.Default())
//	route := planner.NewSearch().Route(molecule, 3)
//
// A [Planner] disconnects a molecule by retrosynthetic templates until all pieces are building blocks. A route tells
// that textbook reactions lead to the molecule. It says nothing about yields, selectivity, conditions or the order of
// protecting groups. Configurations are ignored: a route to a stereoisomer is a route to its constitution.
//
// The reactions follow Hartenfeller et al., J. Chem. Inf. Model. 51, 3093, 2011; templates.tsv has their SMARTS.
//
// Terms:
//
//   - building block: a molecule that need not be made
//   - template: a reaction, written from its product to its precursors
//   - step: one reaction of a route
//   - expansion: the precursors of a molecule by all templates
package synthesis
