package page

import (
	_ "embed"
	"strings"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
)

//go:embed openapi.yaml
var openAPI []byte

// Name is the name in logs and metrics, and the prefix on the main port.
func (s *Service) Name() string { return "page" }

// OpenAPI is the description of the routes.
func (s *Service) OpenAPI() []byte { return openAPI }

// Routes adds the endpoints.
func (s *Service) Routes(r fiber.Router) {
	r.Post("/molecules", gateway.JSON(s.Describe, gateway.AtMost("molecules", maxMolecules)))
	r.Post("/sdf", gateway.JSON(s.Write, gateway.AtMost("molecules", maxRecords)))
	r.Get("/apis", gateway.Get(s.Overview))
}

// RenderFault words a failure as the latent API does.
func (s *Service) RenderFault(f *fault.Error) (status int, body any) {
	if f.Kind == fault.Invalid {
		return fiber.StatusUnprocessableEntity, Failure{Detail: gateway.DetailsOf(f)}
	}
	return gateway.StatusOf(f.Kind), Failure{Detail: f.Message}
}

// Health, Ready and Models are what a gateway asks of an API.
func (s *Service) Health() (ready, live any) { return struct{}{}, struct{}{} }

// Ready returns nil: chemistry needs no model.
func (s *Service) Ready() error { return nil }

// Models is empty: they belong to the APIs.
func (s *Service) Models() []string { return nil }

// policy lets the page load and ask this program alone; nothing inline runs. Drawings come as blobs, pictures that were
// dropped as data.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Assets serves the page at / and what it is made of below /page/assets; route wraps the handlers. They hold no
// secret and need no key.
func Assets(r fiber.Router, route func(fiber.Handler) fiber.Handler) {
	r.Get("/", route(func(c *fiber.Ctx) error { return serve(c, "index.html") }))
	r.Get("/page/assets/*", route(func(c *fiber.Ctx) error { return serve(c, c.Params("*")) }))
}

// serve answers with an asset, packed for clients that unpack; all do but simple programs.
func serve(c *fiber.Ctx, name string) error {
	found, ok := assets()[name]
	if !ok {
		return fiber.ErrNotFound
	}
	c.Set(fiber.HeaderContentSecurityPolicy, policy)
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
	c.Set(fiber.HeaderCacheControl, "no-cache") // asked for again, and then not sent when it is the same
	c.Set(fiber.HeaderETag, found.tag)
	c.Vary(fiber.HeaderAcceptEncoding)
	if c.Get(fiber.HeaderIfNoneMatch) == found.tag {
		return c.SendStatus(fiber.StatusNotModified)
	}
	c.Set(fiber.HeaderContentType, found.kind)
	if !strings.Contains(c.Get(fiber.HeaderAcceptEncoding), "gzip") {
		text, err := found.plain()
		if err != nil {
			return err
		}
		return c.Send(text)
	}
	c.Set(fiber.HeaderContentEncoding, "gzip")
	return c.Send(found.packed)
}
