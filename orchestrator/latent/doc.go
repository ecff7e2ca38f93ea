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
// DIVERGENCES.md lists the differences and extensions, validate.go says where each field is checked, and package search
// describes what /sampling and /generate do.
//
// Where a request may skip unreadable SMILES (skip_invalid), rows of the answer that belong to them are null.
//
// Terms:
//   - hidden state: the latent code of a molecule, K vectors of D numbers with a mask of K booleans. The model sets K;
//     the included one has K = 1.
//   - seed: a molecule that a request starts from.
//   - row: the index of a molecule or hidden state in its request.
//   - scaled radius: the size of noise. At r, the noise in each coordinate has the standard deviation r times the
//     model's radius, which is in its statistics file (statistics.go).
package latent
