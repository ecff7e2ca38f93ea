package main

import (
	"time"

	"retort/orchestrator/gateway"
	"retort/orchestrator/page"
)

// pageLimits are for the requests of the web page that go to no API: quick chemistry.
var pageLimits = gateway.Config{
	Concurrency: 4,
	Queue:       256,
	BodyLimit:   4 << 20, // molecules of an SD file
	Timeout:     30 * time.Second,
}

func (a *application) openPage() (err error) {
	a.page, err = a.openAuxiliary(page.New(a.overview), a.options(pageLimits))
	return err
}

// overview returns what the program serves now.
func (a *application) overview() page.Overview {
	overview := page.Overview{Version: version, OpenToAll: a.config.openToAll()}
	snapshot := a.registry.Snapshot()
	for i, s := range services {
		g := a.gateways[i]
		api := page.API{
			Name:   s.name,
			Title:  s.title,
			Port:   s.limits(a.config).Port,
			Models: []page.Model{},
			Ready:  true,
		}
		if err := g.Ready(); err != nil {
			api.Ready = false
			api.Reason = err.Error()
		}
		for _, id := range g.API().Models() {
			model := page.Model{ID: id}
			for _, m := range snapshot.Of(s.name) {
				// The masked API appends the version to some ids.
				if id == m.PublicID() || id == m.PublicID()+"-v"+m.Version() {
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
