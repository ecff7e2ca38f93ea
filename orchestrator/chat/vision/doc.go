// Package vision turns the image URLs of chat messages into image files that a model can be given.
//
// Nothing that an image or its address claims is trusted: the type is found in the bytes, the size in pixels is read
// and judged before anything is unpacked, and an address is judged after its name was resolved, at every redirect. What
// the images of all requests take is bounded: pixels while they are decoded, and bytes of memory (package memory) until
// their request has been answered.
//
// Words: a source is a data: or http(s): URL. Flat means without transparency, which is laid on white: engines drop the
// alpha channel, so that drawings on a transparent ground would turn black. Sizes are in bytes, pixels in width times
// height.
package vision
