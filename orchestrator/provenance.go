package main

import (
	"context"
	"maps"
	"runtime/debug"
	"slices"

	"retort/chem/rdkit"
	"retort/orchestrator/provenance"
)

// identify returns what a manifest says about entries of the model repository, given the rows that each was given, and
// about the programs behind an answer. What cannot be known is left out.
func (r *resources) identify(ctx context.Context, rows map[string]int64) ([]provenance.Model, map[string]string) {
	models := []provenance.Model{}
	snapshot := r.registry.Snapshot()
	for _, entry := range slices.Sorted(maps.Keys(rows)) {
		model := provenance.Model{Entry: entry, Rows: rows[entry]}
		if m, ok := snapshot.Model(entry); ok {
			model.ID = m.PublicID()
			model.API = m.API()
			model.Version = m.Version()
			if m.Dir != "" {
				var err error
				if model.SHA256, err = r.digests.Of(m.Dir); err != nil {
					r.logger.Warn().Err(err).Str("model", entry).Msg("manifest without the digest of a model")
				}
			}
		}
		models = append(models, model)
	}
	build, _ := debug.ReadBuildInfo()
	software := map[string]string{"retort": version, "commit": commitOf(build), "rdkit": rdkit.Version()}
	if version, err := r.client.ServerVersion(ctx); err == nil {
		software["triton"] = version
	}
	return models, software
}
