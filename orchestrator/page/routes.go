package page

import (
	_ "embed"
	"strings"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/bind"
)

//go:embed openapi.yaml
var openAPI []byte

// Name is the name in logs and metrics, and the prefix on the main port.
func (s *Service) Name() string { return "page" }

// OpenAPI returns the description of the routes.
func (s *Service) OpenAPI() []byte { return openAPI }

// Routes adds the endpoints.
func (s *Service) Routes(r fiber.Router) {
	r.Post("/molecules", gateway.JSON(s.Describe, bind.AtMost("molecules", maxMolecules)))
	r.Post("/sdf", gateway.JSON(s.Write, bind.AtMost("molecules", maxRecords)))
	r.Get("/apis", gateway.Get(s.Overview))
}

// RenderFault returns a failure in the latent API's form.
func (s *Service) RenderFault(f *fault.Error) (status int, body any) {
	if f.Kind == fault.Invalid {
		return fiber.StatusUnprocessableEntity, Failure{Detail: bind.DetailsOf(f)}
	}
	return gateway.StatusOf(f.Kind), Failure{Detail: f.Message}
}

// Health, Ready and Models implement gateway.API.
func (s *Service) Health() (ready, live any) { return struct{}{}, struct{}{} }

// Ready returns nil: chemistry needs no model.
func (s *Service) Ready() error { return nil }

// Models returns none: models belong to the APIs.
func (s *Service) Models() []string { return nil }

// policy lets the page load from and connect to this program only, without inline scripts. Drawings are blob: URLs, and
// chosen pictures are data: URLs.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Assets serves the page at / and its assets below /page/assets, without a key. route wraps the handlers.
func Assets(r fiber.Router, route func(fiber.Handler) fiber.Handler) {
	r.Get("/", route(func(c *fiber.Ctx) error { return serve(c, "index.html") }))
	r.Get("/page/assets/*", route(func(c *fiber.Ctx) error { return serve(c, c.Params("*")) }))
}

// serve answers with an asset, compressed if the client accepts gzip.
func serve(c *fiber.Ctx, name string) error {
	a, ok := assets()[name]
	if !ok {
		return fiber.ErrNotFound
	}
	c.Set(fiber.HeaderContentSecurityPolicy, policy)
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
	c.Set(fiber.HeaderCacheControl, "no-cache") // revalidate each time
	c.Set(fiber.HeaderETag, a.tag)
	c.Vary(fiber.HeaderAcceptEncoding)
	if c.Get(fiber.HeaderIfNoneMatch) == a.tag {
		return c.SendStatus(fiber.StatusNotModified)
	}
	c.Set(fiber.HeaderContentType, a.kind)
	if !strings.Contains(c.Get(fiber.HeaderAcceptEncoding), "gzip") {
		text, err := a.plain()
		if err != nil {
			return err
		}
		return c.Send(text)
	}
	c.Set(fiber.HeaderContentEncoding, "gzip")
	return c.Send(a.packed)
}
