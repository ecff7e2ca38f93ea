// Package vision turns the image URLs of chat messages into image files that
// a model can be given.
//
// An image comes from outside and so do its claims: the type is found in the
// bytes, the size in pixels is read and judged before anything is unpacked,
// and an address is judged after its name was resolved, at every redirect.
//
// Words: a source is a data: or http(s): URL. Flat means without transparency,
// which is laid on white: engines drop the alpha channel, so that drawings on
// a transparent ground would turn black. Sizes are in bytes, pixels in width
// times height.
package vision
