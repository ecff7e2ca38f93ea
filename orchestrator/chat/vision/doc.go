// Package vision turns the image URLs of chat messages into image files that a model can be given.
//
// Nothing that an image or its address claims is trusted: the type is found in the bytes, the size in pixels is read
// and judged before anything is unpacked, and an address is judged after its name was resolved, at every redirect. What
// the images of all requests take is bounded: pixels while they are decoded, and bytes of memory (package memory) until
// their request has been answered.
//
// Sizes of files are in bytes, sizes of images in pixels.
//
// Terms:
//
//	source    a data: or http(s): URL, or base64 text
//	flatten   draw an image on a white background: engines drop the alpha channel, so that transparency would turn black
//	budget    the memory that the images of all requests may take (package memory)
package vision
