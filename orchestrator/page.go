package main

import (
	"time"

	"retort/orchestrator/gateway"
	"retort/orchestrator/page"
)

// Bounds of what the page asks beside the APIs: a moment of chemistry each.
const (
	pageConcurrency = 4
	pageQueue       = 256
	pageBodyLimit   = 4 << 20 // an SD file's molecules
	pageTimeout     = 30 * time.Second
)

// openPage offers what the page asks.
func (a *application) openPage() (err error) {
	options := a.options(gateway.Config{Concurrency: pageConcurrency, Queue: pageQueue, BodyLimit: pageBodyLimit, Timeout: pageTimeout})
	options.Interactive = nil // no model answers these
	a.page, err = gateway.New(a.life, page.New(a.overview), a.draining.Load, options)
	return err
}

// overview is what the program serves now.
func (a *application) overview() page.Overview {
	overview := page.Overview{Version: version, OpenToAll: a.openToAll()}
	snapshot := a.registry.Snapshot()
	for i, s := range services {
		g := a.gateways[i]
		api := page.API{Name: s.name, Title: s.title, Port: s.limits(a.config).Port, Models: []page.Model{}, Ready: true}
		if err := g.Ready(); err != nil {
			api.Ready = false
			api.Reason = err.Error()
		}
		for _, id := range g.API().Models() {
			model := page.Model{ID: id}
			for _, m := range snapshot.Of(s.name) {
				if id == m.PublicID() || id == m.PublicID()+"-v"+m.Version() { // the second is how the masked API names some
					model.Entry = m.Name
					model.Versions = m.Versions
				}
			}
			api.Models = append(api.Models, model)
		}
		overview.APIs = append(overview.APIs, api)
	}
	return overview
}
