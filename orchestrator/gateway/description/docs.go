package description

import (
	"html/template"
	"io/fs"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/filesystem"
	swagger "github.com/swaggo/files/v2"
)

// page shows the description in Swagger UI. Its assets are embedded and its links relative, so that it works offline
// and behind a path prefix.
var page = template.Must(template.New("docs").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.}}</title>
<link rel="stylesheet" href="docs/assets/swagger-ui.css">
<link rel="icon" href="docs/assets/favicon-32x32.png">
<meta name="color-scheme" content="light dark">
<style>
body { margin: 0 }
/* There is only one server. */
.swagger-ui .topbar, .swagger-ui .schemes > .schemes-server-container { display: none }
/* Without this they have the colours of the browser's buttons. */
.swagger-ui .json-schema-2020-12-accordion, .swagger-ui .json-schema-2020-12-expand-deep-button { background: none }
/* This version of Swagger UI has no dark theme: invert all colours but keep the hues, and invert images and code
   samples, which are dark already, back again. */
@media (prefers-color-scheme: dark) {
  html { background: #1c1c1c }
  .swagger-ui { filter: invert(0.89) hue-rotate(180deg) }
  .swagger-ui img, .swagger-ui .highlight-code, .swagger-ui .microlight { filter: invert(1) hue-rotate(180deg) }
}
</style>
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

// Mount adds /openapi.json, /docs and /llms.txt to r, and redirects / to /docs. models returns the public ids of the
// models that can be used now.
func Mount(r fiber.Router, source Source, models func() []string) error {
	description, title, err := source.compose()
	if err != nil {
		return err
	}
	index, err := IndexOf(description)
	if err != nil {
		return err
	}
	var html strings.Builder
	if err := page.Execute(&html, title); err != nil {
		return err
	}
	r.Get("/", func(c *fiber.Ctx) error { return c.Redirect("docs") })
	r.Get("/openapi.json", func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
		return c.Send(description)
	})
	r.Get("/llms.txt", func(c *fiber.Ctx) error { return index.withModels(models()).Send(c) })
	r.Get("/docs", func(c *fiber.Ctx) error {
		if strings.HasSuffix(c.Path(), "/") { // the links are relative to /docs
			return c.Redirect("../docs")
		}
		c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
		return c.SendString(html.String())
	})
	r.Use("/docs/assets", filesystem.New(filesystem.Config{Root: http.FS(filesOnly{swagger.FS})}))
	return nil
}

// filesOnly is a file system without its folders, which the middleware would refuse as if they existed.
type filesOnly struct{ fs.FS }

// Open opens a file.
func (f filesOnly) Open(name string) (fs.File, error) {
	if info, err := fs.Stat(f.FS, name); err != nil || info.IsDir() {
		return nil, fs.ErrNotExist
	}
	return f.FS.Open(name)
}
