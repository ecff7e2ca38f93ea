// Package latent is the latent-space molecule API: SMILES in, vectors, hidden states or new SMILES out.
//
//	POST /embedding  SMILES → one vector each
//	POST /hidden     SMILES → hidden states and their mask
//	POST /decode     hidden states and mask → SMILES
//	POST /sampling   SMILES → molecules around each, unguided
//	POST /generate   one seed → molecules, guided by CMA-ES or random
//	GET  /v1/models, /v1/health/ready, /v1/health/live
//
// The wire format is that of the MolMIM service 1.0 (https://docs.nvidia.com/nim/bionemo/molmim/latest/endpoints.html).
// Where we knowingly differ, and what is offered beyond it: DIVERGENCES.md. Where each field is checked: validate.go.
// What /sampling and /generate do: package search.
//
// Words: a hidden state is the latent code of a molecule, K vectors of D numbers with a mask of K truths; here K is 1.
// A seed is a molecule that a request starts from. The noise of a scaled radius r has the standard deviation r times
// the model's radius in each coordinate; the model's radius is in its statistics file (statistics.go).
package latent
