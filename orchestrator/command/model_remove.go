package command

import (
	"cmp"
	"fmt"

	"retort/orchestrator/modelimport"
	"retort/orchestrator/triton"
)

type removeModel struct {
	Name string `arg:"" help:"Public id of the model, or the name of its only entry."`

	Repository string `type:"path" placeholder:"DIR" env:"-" help:"Model repository; by default --model-repository."`
	Unload     bool   `env:"-" help:"Unload the entries from every replica of the gateway's Triton (--triton-url), for a Triton that does not follow the repository."`
}

func (c removeModel) Run(p *Process, repository Repository) error {
	var replicas []*triton.Replica
	if c.Unload {
		client, found, err := repository.dial(p.Context)
		if err != nil {
			return fmt.Errorf("%w: nothing was removed", err)
		}
		defer client.Close()
		replicas = found
	}
	entries, err := modelimport.Remove(cmp.Or(c.Repository, repository.Folder), c.Name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		fmt.Fprintf(p.Stdout, "removed %s\n", e.Name)
	}
	for _, replica := range replicas {
		for _, e := range entries {
			if err := replica.Unload(p.Context, e.Name); err != nil && !triton.IsPolling(err) {
				return fmt.Errorf("%s was removed, but Triton at %s did not unload it: %s",
					e.Name, replica.Address(), triton.Message(err))
			}
		}
	}
	_, err = fmt.Fprintf(p.Stdout, "Once Triton has unloaded it, requests for %s get an error, also those of batches and "+
		"searches in progress: 404, or 503 if its API has no other model.\n", entries[0].ID)
	return err
}
