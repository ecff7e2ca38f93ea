// Package masked is the masked-template molecule API: a SAFE or SMILES template with masks in, molecules that fill the
// masks out, scored and ranked, best first.
//
//	POST /generate
//	GET  /v1/models
//	GET  /v1/health/ready, /v1/health/live
//
// The wire format is that of the GenMol service, 1.0 with the optional members of 2.0
// (https://docs.nvidia.com/nim/bionemo/genmol/2.0.0/endpoints.html). DIVERGENCES.md lists the differences and
// extensions.
//
// Generation can end early: its context ends, the model fails or an oracle fails. Functions that return molecules and
// an error then return the molecules found before the error as well.
//
// Terms:
//   - SAFE: a notation that writes a molecule as fragments between dots, joined by attachment numbers (Noutahi et al.,
//     arXiv:2310.10773).
//   - mask: [*{a-b}] in a template, a run of a to b mask tokens. The model replaces them, a few in each step, the most
//     confident first (Lee et al., GenMol, arXiv:2501.06158, section 4).
//   - API token: a token of published SAFE models, the unit of masks and lengths in requests. A token of the model
//     stands for several.
//   - given fragments: the template without its masks. Every molecule contains them.
//   - open position: an atom of a given fragment to which the model may bond something, written [*] or [n*].
//   - nested order: a form of SAFE without attachment numbers (chem/safe), which the models trained here write.
//     Published models write plain SAFE. A sampler has what differs.
//   - row: token ids with masks, drawn from a template, which the model unmasks.
//   - addition: what the model puts in place of the masks of a row.
//   - remasking: replacing fragments of good molecules by masks, in rounds (GenMol, section 4.2).
package masked
