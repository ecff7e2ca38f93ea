package gateway

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml"
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/filesystem"
	swagger "github.com/swaggo/files/v2"
)

// page is Swagger UI on the API's own description. Its assets are embedded and its links relative, so that it works
// offline and behind a prefix.
var page = template.Must(template.New("docs").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.}}</title>
<link rel="stylesheet" href="docs/assets/swagger-ui.css">
<link rel="icon" href="docs/assets/favicon-32x32.png">
<style>body { margin: 0 } .swagger-ui .topbar { display: none }</style>
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs/assets/swagger-ui-bundle.js"></script>
<script>
SwaggerUIBundle({ url: "openapi.json", dom_id: "#swagger-ui", deepLinking: true, tryItOutEnabled: true });
</script>
</body>
</html>
`))

// docs adds /openapi.json and /docs.
func (g *Gateway) docs(r fiber.Router) error {
	description, err := yaml.YAMLToJSON(g.api.OpenAPI())
	if err != nil {
		return fmt.Errorf("openapi.yaml: %w", err)
	}
	if !jsontext.Value(description).IsValid() { // Members that occur twice, as merged ones do, break the page.
		return errors.New("openapi.yaml: no valid JSON, or a member occurs twice")
	}
	var title struct {
		Info struct {
			Title string `yaml:"title"`
		} `yaml:"info"`
	}
	if err := yaml.Unmarshal(g.api.OpenAPI(), &title); err != nil {
		return fmt.Errorf("openapi.yaml: %w", err)
	}
	var html strings.Builder
	if err := page.Execute(&html, title.Info.Title); err != nil {
		return err
	}
	r.Get("/", func(c *fiber.Ctx) error { return c.Redirect("docs") })
	r.Get("/openapi.json", func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
		return c.Send(description)
	})
	r.Get("/docs", func(c *fiber.Ctx) error {
		if strings.HasSuffix(c.Path(), "/") { // the links are relative to /docs
			return c.Redirect("../docs")
		}
		c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
		return c.SendString(html.String())
	})
	r.Use("/docs/assets", filesystem.New(filesystem.Config{Root: http.FS(swagger.FS)}))
	return nil
}
