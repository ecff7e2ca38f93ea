// Package objective is what the molecule APIs optimise: terms (numbers that a molecule has), modifiers (how much a value
// of a term is wanted), and their combination to one score. It knows neither HTTP nor Triton: an [Oracle] is a small
// interface.
//
// A request has a [Spec], in the same words in both APIs:
//
//	"QED"
//	{"name": "similarity", "smiles": "CC(=O)Oc1ccccc1C(=O)O", "fingerprint": "ECFP4"}
//	["QED", {"name": "SA", "weight": -0.1}]
//	{"combine": "geometric_mean", "terms": [
//	    {"name": "similarity", "smiles": "…", "modifier": {"type": "clipped", "upper": 0.8}},
//	    {"name": "TPSA", "modifier": {"type": "max_gaussian", "mu": 95, "sigma": 20}}, {"name": "my-docking"}]}
//
// [Spec.Open] checks everything before anything is computed, and gives an [Objective], whose Score works on batches.
//
// Terms (term.go), modifiers (modifier.go) and means are those of GuacaMol (J. Chem. Inf. Model. 59, 1096, 2019) and of
// the Therapeutics Data Commons, with their definitions where these agree with RDKit.
package objective
