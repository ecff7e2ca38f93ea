// Package objective scores molecules by what the molecule APIs optimise. It knows neither HTTP nor Triton: an [Oracle]
// is a small interface.
//
// A request has a [Spec], with the same syntax in both APIs:
//
//	"QED"
//	{"name": "similarity", "smiles": "CC(=O)Oc1ccccc1C(=O)O", "fingerprint": "ECFP4"}
//	["QED", {"name": "SA", "weight": -0.1}]
//	{"combine": "geometric_mean", "terms": [
//	    {"name": "similarity", "smiles": "…", "modifier": {"type": "clipped", "upper": 0.8}},
//	    {"name": "TPSA", "modifier": {"type": "max_gaussian", "mu": 95, "sigma": 20}}, {"name": "my-docking"}]}
//
// [Spec.Open] validates it and returns an [Objective], whose Score takes batches.
//
// The definitions of terms, modifiers and means are those of GuacaMol (J. Chem. Inf. Model. 59, 1096, 2019) and of the
// Therapeutics Data Commons where these agree with RDKit.
//
// Terms:
//
//   - term: a number that a molecule has, such as QED or the similarity to another molecule
//   - modifier: a desirability function, which maps the value of a term to its desirability, mostly 0 to 1
//   - group: terms that are combined to one value, by a weighted sum or mean
//   - oracle: a model outside of this process that scores molecules
//   - measure: a number that a [chem.Panel] computes, such as the similarity to a reference
//   - unit: a difference between values that matters to a search, such as 0.1 for QED
//   - path: the JSON path from the spec to a term, for errors
package objective
