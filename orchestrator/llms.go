package main

import (
	"embed"
	"path"

	"github.com/gofiber/fiber/v2"

	docs "retort/orchestrator/gateway/description"
	"retort/orchestrator/jobs/optimization"
	"retort/orchestrator/mcp"
)

// skills has the Agent Skill (https://agentskills.io) for users of the APIs.
//
//go:embed docs/use/skills
var skills embed.FS

// agentRoutes adds what agents read first to the main port: /llms.txt, and the skill below /skills.
func (a *application) agentRoutes(app *fiber.App, local func(fiber.Handler) fiber.Handler) error {
	index, err := a.index()
	if err != nil {
		return err
	}
	app.Get("/llms.txt", local(func(c *fiber.Ctx) error {
		if f := a.keys.Check(c); f != nil {
			return f
		}
		return index.Send(c)
	}))
	app.Get("/skills/*", local(sendSkillFile))
	return nil
}

// sendSkillFile answers with a file of the skill, as text. Folders are not listed.
func sendSkillFile(c *fiber.Ctx) error {
	name := c.Params("*")
	data, err := skills.ReadFile("docs/use/skills/" + name)
	if err != nil {
		return fiber.ErrNotFound
	}
	kind := "text/plain; charset=utf-8"
	if path.Ext(name) == ".md" {
		kind = "text/markdown; charset=utf-8"
	}
	c.Set(fiber.HeaderContentType, kind)
	return c.Send(data)
}

// index returns /llms.txt of the main port.
func (a *application) index() (docs.Index, error) {
	index := docs.Index{
		Title: "Retort",
		Summary: "Inference APIs in front of a Triton Inference Server: each on a port of its own, and below its " +
			"name on this port.",
		Details: "Version " + version + ".",
	}
	if a.keys != nil {
		index.Details += " Requests need a key: `Authorization: Bearer KEY`."
	}
	apis := docs.Section{Title: "APIs"}
	for i, s := range services {
		api, err := docs.IndexOf(a.gateways[i].API().OpenAPI())
		if err != nil {
			return index, err
		}
		apis.Links = append(apis.Links, docs.Link{Name: api.Title, URL: s.name + "/llms.txt", Note: api.Summary})
	}
	several := docs.Section{Title: "Interfaces to several APIs", Links: []docs.Link{
		{Name: "OpenAI", URL: "v1/models", Note: "the base URL `/v1` serves the models of all APIs that are called by model"},
	}}
	if a.mcp != nil {
		several.Links = append(several.Links, docs.Link{
			Name: "Model Context Protocol", URL: mcp.Path[1:], Note: "the APIs as tools, over streamable HTTP",
		})
	}
	if a.config.Jobs {
		several.Links = append(several.Links, docs.Link{
			Name: "Files and batches", URL: "jobs/llms.txt", Note: "requests in a file, answered in the background",
		})
		for _, s := range services {
			if s.searches {
				several.Links = append(several.Links, docs.Link{
					Name: "Searches of " + s.name + " as jobs",
					URL:  s.name + optimization.Path + "/openapi.json",
					Note: "searches that outlast a connection",
				})
			}
		}
	}
	index.Sections = []docs.Section{
		apis,
		several,
		{Title: "Skill", Links: []docs.Link{{
			Name: "retort", URL: "skills/retort/SKILL.md", Note: "instructions and scripts for agents, a use case of each API",
		}}},
		{Title: "Optional", Links: []docs.Link{
			{Name: "Readiness", URL: "v1/health/ready"},
			{Name: "Metrics", URL: "metrics"},
			{Name: "Web page", URL: "."},
		}},
	}
	return index, nil
}
