package mcp

// forwardedTool is a tool whose arguments are the body of an endpoint.
type forwardedTool struct {
	name        string
	title       string
	description string
	api         string
	path        string
	omit        []string // members of the body that make no sense in a tool
	isSearch    bool     // the endpoint is /generate: it can report progress, and can be a task
}

// forwardedTools are listed here, typed tools in addTypedTools.
var forwardedTools = []forwardedTool{
	{
		name:  "optimize_molecule",
		title: "Optimise a molecule",
		description: "New molecules like a given one (SMILES) with a better property such as QED (drug-likeness) or plogP, " +
			"at least min_similarity similar to it, best first.",
		api: "latent", path: "/generate", omit: []string{"stream", "generated"}, isSearch: true,
	},
	{
		name:        "sample_molecules",
		title:       "Sample molecules around seeds",
		description: "Random molecules near each given one (SMILES) in the model's latent space; scaled_radius says how far.",
		api:         "latent", path: "/sampling",
	},
	{
		name:  "fill_template",
		title: "Fill a molecule template",
		description: "Molecules that contain given fragments: a SAFE or SMILES template in which masks such as [*{10-20}] " +
			"say how much is to be added. Best first by QED or LogP. Without a template: drug-like molecules from nothing.",
		api: "masked", path: "/generate", omit: []string{"stream"}, isSearch: true,
	},
	{
		name:        "embed_texts",
		title:       "Embed texts",
		description: "A vector for each text, for search by meaning; prompt_name says whether texts are queries or passages.",
		api:         "embedding", path: "/embed",
	},
	{
		name:        "rank_passages",
		title:       "Rank passages for a query",
		description: "Passages in the order of how well they answer a query, each with a logit: higher is better.",
		api:         "ranking", path: "/v1/ranking",
	},
}
