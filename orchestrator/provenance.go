package main

import (
	"context"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"retort/chem/rdkit"
	"retort/orchestrator/provenance"
)

// versionTimeout bounds the wait for the version of Triton: the answer is complete and must not wait for a server that
// hangs.
const versionTimeout = 2 * time.Second

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
				if model.SHA256, err = r.digests.Of(ctx, m.Dir); err != nil {
					r.logger.Warn().Err(err).Str("model", entry).Msg("manifest without the digest of a model")
				}
			}
		}
		models = append(models, model)
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	build, _ := debug.ReadBuildInfo()
	software := map[string]string{"retort": version, "commit": commitOf(build), "rdkit": rdkit.Version()}
	if version, err := r.client.ServerVersion(ctx); err == nil {
		software["triton"] = version
	}
	return models, software
}
