package description

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/gofiber/fiber/v2"
)

// Index is a page that tells a language model what is here, in the form of https://llmstxt.org. It is served as
// /llms.txt.
type Index struct {
	Title    string
	Summary  string // one paragraph
	Details  string // Markdown without headings; may be empty
	Sections []Section
}

// Section is a list of links under a heading. The heading Optional has a meaning: a reader may skip these links.
type Section struct {
	Title string
	Links []Link
}

// Link is a link with a note. Its URL may be relative to the page.
type Link struct {
	Name string
	URL  string
	Note string // one sentence; may be empty
}

// String returns the page, without the sections that have no links.
func (i Index) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "# %s\n\n> %s\n", i.Title, i.Summary)
	if i.Details != "" {
		fmt.Fprintf(&text, "\n%s\n", strings.TrimSpace(i.Details))
	}
	for _, s := range i.Sections {
		if len(s.Links) == 0 {
			continue
		}
		fmt.Fprintf(&text, "\n## %s\n\n", s.Title)
		for _, link := range s.Links {
			fmt.Fprintf(&text, "- [%s](%s)", link.Name, link.URL)
			if link.Note != "" {
				fmt.Fprintf(&text, ": %s", link.Note)
			}
			text.WriteByte('\n')
		}
	}
	return text.String()
}

// Send answers a request with the page, as Markdown.
func (i Index) Send(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, "text/markdown; charset=utf-8")
	return c.SendString(i.String())
}

// serviceTag is the tag of the operations that every API has.
const serviceTag = "service"

// IndexOf returns the index of an OpenAPI description in YAML or JSON, without models.
func IndexOf(description []byte) (Index, error) {
	spec, err := readYAML(description) // JSON is YAML
	if err != nil {
		return Index{}, err
	}
	var info struct {
		Title       string `json:"title"`
		Description string `json:"description"`
	}
	if err := json.Unmarshal(spec.get("info"), &info); err != nil {
		return Index{}, err
	}
	first, rest, _ := strings.Cut(strings.TrimSpace(info.Description), "\n\n")
	i := Index{Title: info.Title, Summary: strings.Join(strings.Fields(first), " "), Details: rest}
	endpoints := Section{Title: "Endpoints", Links: []Link{
		{"OpenAPI description", "openapi.json", "all fields, limits, errors and examples"},
	}}
	optional := Section{Title: "Optional"}
	for _, path := range spec.section("paths") {
		for _, method := range readObject(path.value) {
			var operation struct {
				Summary string   `json:"summary"`
				Tags    []string `json:"tags"`
			}
			if err := json.Unmarshal(method.value, &operation); err != nil {
				continue // a member of the path that is no operation
			}
			link := Link{
				Name: strings.ToUpper(method.name) + " " + path.name,
				URL:  "openapi.json#/paths/" + url.PathEscape(pointer(path.name)) + "/" + method.name,
				Note: operation.Summary,
			}
			if slices.Contains(operation.Tags, serviceTag) {
				optional.Links = append(optional.Links, link)
			} else {
				endpoints.Links = append(endpoints.Links, link)
			}
		}
	}
	i.Sections = []Section{endpoints, optional}
	return i, nil
}

// pointer escapes a name for a JSON pointer.
func pointer(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

// withModels returns the index with a section of models before the optional links.
func (i Index) withModels(ids []string) Index {
	models := Section{Title: "Models"}
	for _, id := range ids {
		escaped := strings.ReplaceAll(url.PathEscape(id), "%2F", "/")
		models.Links = append(models.Links, Link{Name: id, URL: "v1/models/" + escaped})
	}
	last := len(i.Sections) - 1
	i.Sections = slices.Insert(slices.Clone(i.Sections), last, models)
	return i
}
