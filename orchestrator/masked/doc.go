// Package masked is the masked-template molecule API: a SAFE or SMILES template with masks in, molecules that fill the
// masks out, with a score each, best first.
//
//	POST /generate
//	GET  /v1/models
//	GET  /v1/health/ready, /v1/health/live
//
// The wire format is that of the GenMol service, 1.0 with the optional members of 2.0
// (https://docs.nvidia.com/nim/bionemo/genmol/2.0.0/endpoints.html). Where we knowingly differ, and what is offered
// beyond it: DIVERGENCES.md.
//
// Words: SAFE writes a molecule as fragments between dots, joined by attachment numbers (Noutahi et al.,
// arXiv:2310.10773). A mask [*{a-b}] is a run of a to b mask tokens; the model unmasks them, a few in each step, the
// most confident first (Lee et al., GenMol, arXiv:2501.06158, section 4). The given fragments are the rest of the
// template. An open position is where a given fragment may be bonded to what the model makes. Fragment remasking (the
// same, section 4.2) replaces fragments of good molecules by masks, again and again.
package masked
