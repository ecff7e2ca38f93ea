// Package vision turns the image URLs of chat messages into image files that models accept. One [Loader] serves all
// requests. Its Load returns the [Images] of one request, which hold memory until the request ends.
//
// It trusts no claim of an image or its address: the bytes decide the format, the size in pixels is checked before
// anything is decompressed, and the resolved address is checked before every connection. Two bounds hold for the images
// of all requests together: the pixels being decoded, and the bytes of memory (package memory) until the request ends.
//
// Sizes of files are in bytes, sizes of images in pixels.
//
// Terms:
//
//	source    a data: or http(s): URL, or base64 text
//	flatten   draw an image on a white background: engines drop the alpha channel, which would turn transparency black
package vision
