package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"retort/orchestrator/modelimport"
	"retort/orchestrator/triton"
)

type listModels struct {
	Repository string `type:"path" placeholder:"DIR" env:"-" help:"Model repository; by default --model-repository."`
	JSON       bool   `name:"json" env:"-" help:"Print a JSON object per entry, with the states on each replica."`
}

// listedModel is an entry with its states in Triton.
type listedModel struct {
	modelimport.Entry
	States []listedState `json:"states"`
}

// listedState is the state of an entry on one replica.
type listedState struct {
	Replica string `json:"replica"`
	State   string `json:"state"` // ready, failed, loading, unloading or not loaded
	Reason  string `json:"reason,omitempty"`
}

func (c listModels) Run(p *Process, repository Repository) error {
	entries, err := modelimport.List(cmp.Or(c.Repository, repository.Folder))
	if err != nil {
		return err
	}
	models, err := repository.withStates(p.Context, entries)
	if err != nil {
		p.report("the states are unknown: %v", err)
	}
	if c.JSON {
		for _, m := range models {
			line, err := json.Marshal(m)
			if err != nil {
				return err
			}
			fmt.Fprintf(p.Stdout, "%s\n", line)
		}
		return nil
	}
	table := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tAPI\tENTRY\tSIZE\tPRECISION\tSTATE")
	for _, m := range models {
		fmt.Fprintf(table, "%s\t%s\t%s\t%.1f MB\t%s\t%s\n",
			m.ID, cmp.Or(m.API, "-"), m.Name, float64(m.Bytes)/1e6, cmp.Or(m.Precision, "-"), m.state())
	}
	return table.Flush()
}

// withStates adds the states on each replica. If no replica answers, the entries have no states.
func (r Repository) withStates(ctx context.Context, entries []modelimport.Entry) ([]listedModel, error) {
	models := make([]listedModel, len(entries))
	for i, e := range entries {
		models[i] = listedModel{Entry: e, States: []listedState{}}
	}
	client, replicas, err := r.dial(ctx)
	if err != nil {
		return models, err
	}
	defer client.Close()
	for _, replica := range replicas {
		list, err := states(ctx, replica)
		if err != nil {
			return models, fmt.Errorf("Triton at %s: %s", replica.Address(), triton.Message(err))
		}
		for i, m := range models {
			state := stateOf(list, m.Name)
			state.Replica = replica.Address()
			models[i].States = append(m.States, state)
		}
	}
	return models, nil
}

// stateOf returns the state of the version that matters most to clients: one that is ready, else one that is loading or
// failed.
func stateOf(list []triton.ModelState, name string) listedState {
	list = slices.DeleteFunc(slices.Clone(list), func(s triton.ModelState) bool { return s.Name != name })
	if slices.ContainsFunc(list, triton.ModelState.Ready) {
		return listedState{State: "ready"}
	}
	found := listedState{State: "not loaded"}
	for _, s := range list {
		switch {
		case s.Failed():
			found = listedState{State: "failed", Reason: s.Reason}
		case s.State != "" && s.State != "UNAVAILABLE":
			return listedState{State: strings.ToLower(s.State)}
		}
	}
	return found
}

// state describes the states on all replicas in one line.
func (m listedModel) state() string {
	if m.Problem != "" {
		return oneLine(m.Problem)
	}
	var states []string
	for _, s := range m.States {
		text := s.State
		if s.Reason != "" {
			text += ": " + oneLine(s.Reason)
		}
		if !slices.Contains(states, text) {
			states = append(states, text)
		}
	}
	return cmp.Or(strings.Join(states, "; "), "unknown")
}

func oneLine(text string) string { return printable(text, "") }
